"""Stores that answer on this machine: a web server that can misbehave, and an S3."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import trustme


@dataclass
class Web:
    """A web server. By path: what it holds, and how it behaves."""

    objects: dict[str, bytes] = field(default_factory=dict)
    breaks: dict[str, list[int]] = field(default_factory=dict)  # bytes after which the next answers break off
    always: dict[str, int] = field(default_factory=dict)  # the byte that no answer gets beyond
    changes: dict[str, tuple[int, bytes]] = field(default_factory=dict)  # what it is after so many reads
    refuses: dict[str, int] = field(default_factory=dict)  # status
    leads: dict[str, str] = field(default_factory=dict)  # to another URL
    plain: set[str] = field(default_factory=set)  # whole answers only, without a word of ranges
    endless: set[str] = field(default_factory=set)  # no length is told
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)  # method, path, range
    headers: list[str] = field(default_factory=list)  # of authorization
    calls: dict[str, Callable[[int], None]] = field(default_factory=dict)  # told of the client's port
    url: str = ""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        web = self.server.web
        path = self.path.partition("?")[0]
        asked = self.headers.get("Range")
        web.asked.append((self.command, self.path, asked))
        web.headers.append(self.headers.get("Authorization", ""))
        if path in web.leads:
            self.send_response(302)
            self.send_header("Location", web.leads[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if status := web.refuses.get(path, 0 if path in web.objects else 404):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = web.objects[path]
        start, stop = 0, len(data)
        if asked and path not in web.plain:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(stop, int(last) + 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("ETag", f'"{hash(data):x}"')
        if path in web.endless:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        if not body:
            return
        if path in web.changes:
            more, other = web.changes.pop(path)
            if more == 1:
                web.objects[path] = other
            else:
                web.changes[path] = more - 1, other
        if path in web.calls:
            web.calls[path](self.client_address[1])
        limit = stop
        if web.breaks.get(path):
            limit = start + web.breaks[path].pop(0)
        limit = min(limit, web.always.get(path, limit))
        self.wfile.write(data[start : min(stop, limit)])
        if limit < stop or path in web.endless:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    web: Web

    def handle_error(self, *_: object) -> None:
        """A client that goes away early is no error."""


@pytest.fixture
def web() -> Iterator[Web]:
    """A web server on loopback."""
    yield from _serving(None)


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """Who signs the certificate of `secure_web`."""
    return trustme.CA()


@pytest.fixture
def secure_web(authority: trustme.CA) -> Iterator[Web]:
    """A web server on loopback with a certificate that nobody knows yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    yield from _serving(context)


def _serving(context: ssl.SSLContext | None) -> Iterator[Web]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.web = Web(url=f"http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}")
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.web
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A client of an S3 on loopback, with a bucket `logs`; the environment leads there."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    patch = pytest.MonkeyPatch()
    patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    patch.setenv("AWS_ACCESS_KEY_ID", "testing-access-key")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "testing-secret-key")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("s3")
    client.create_bucket(Bucket="logs")
    yield client
    client.close()
    patch.undo()
    server.stop()
