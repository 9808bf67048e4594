"""The walk beside a job that runs: logs are read as they grow, and each fallback is told as it comes.

Each log has a thread, which reads it by the same rooms as `gate.check` does. Now and then what all of them
have gathered is judged: what is new is told, and the first fallback that must not be ends the watch. At the
end the verdict is that of `judging`, over all that was read.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread

from fallback_gate import policy as policies
from fallback_gate.compilers.log import read_log, read_waiting
from fallback_gate.errors import InputError
from fallback_gate.judging.judge import judge, judged
from fallback_gate.judging.terms import Terms
from fallback_gate.model import Class, Decision, Finding, ProcessKey, Report, Verdict
from fallback_gate.reading.jobs import read_all
from fallback_gate.reading.run import Reading, Run, traces
from fallback_gate.scan.window import Scan
from fallback_gate.sources import Source, expand
from fallback_gate.sources.growing import POLL, SETTLED, Ending, Followed, GrowingFile, Pipe
from fallback_gate.sources.names import shown
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.seal import key_of
from fallback_gate.sources.traces import is_trace

LOOK_AGAIN = 2.0  # seconds from one look for new files of a pattern to the next
SHARE = 10  # judging what was gathered takes at most a tenth of the time


@dataclass(slots=True)
class _Log:
    """One log that is followed. `early`: what its end reports, which may go on."""

    source: Source
    feed: GrowingFile | Pipe
    followed: Followed
    scan: Scan | None = None
    early: list[tuple[Report, ProcessKey]] = field(default_factory=list)
    looked: tuple[int, bool] = (-1, False)  # at how many bytes `early` was read, and whether they had settled
    reading: Reading | None = None
    failure: BaseException | None = None
    thread: Thread | None = None


class Watch:
    """Logs that are followed until the `verdict`; `step` before it, as often as one likes."""

    def __init__(
        self,
        logs: Sequence[str],
        terms: Terms,
        tell: Callable[[Finding], None],
        *,
        cwd: Path,
        environ: Mapping[str, str],
    ) -> None:
        self._arguments, self._terms, self._tell, self._cwd = logs, terms, tell, cwd
        self._run = Run(key=key_of(environ))
        self._ending = Ending()
        self._lock = Lock()  # of what the threads tell
        self._changed = False
        self._logs: dict[tuple[str, str], _Log] = {}
        self._told: dict[object, Decision] = {}
        self._look_at = self._judge_at = 0.0
        if not all(logs) or (sys.stdin is None and "-" in logs):
            raise InputError("an empty argument names no log, and `-` needs a standard input")
        self._find()

    @property
    def quiet(self) -> float:
        """For how long no log grew, in seconds."""
        return min((log.followed.quiet for log in self._logs.values()), default=0.0)

    @property
    def is_pipe(self) -> bool:
        """Nothing is followed but pipes, which end by themselves."""
        return bool(self._logs) and all(isinstance(log.feed, Pipe) for log in self._logs.values())

    @property
    def missing(self) -> list[str]:
        """The names that are awaited."""
        sources = (log.source for log in self._logs.values())
        return [s.path for s in sources if isinstance(s.file, Path) and not s.file.exists()]

    @property
    def is_over(self) -> bool:
        """Every log has come to its end."""
        return bool(self._logs) and not any(
            log.thread.is_alive() for log in self._logs.values() if log.thread
        )

    def step(self) -> tuple[Finding, ...]:
        """Wait a moment, then tell what is new; the findings so far, as far as anything changed."""
        self._ending.drain.wait(POLL)
        for log in self._logs.values():
            if log.failure is not None:
                raise log.failure
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_AGAIN
            self._find()
        if not self._changed or now < self._judge_at:
            return ()
        findings = self._so_far()
        self._judge_at = time.monotonic() + SHARE * (time.monotonic() - now)
        self._tell_new(findings)
        return findings

    def forbids(self, findings: Sequence[Finding], *, hot_only: bool) -> bool:
        """Whether one of them must not be: on a hot path, or (without `hot_only`) by any rule or limit."""
        blocked = [finding for finding in findings if finding.decision is Decision.BLOCKED]
        if hot_only:
            return any(finding.event_class is Class.HOT for finding in blocked)
        return bool(blocked or (findings and policies.limits(findings, self._terms.files.policy).exceeded))

    def stop(self) -> None:
        """End at once, whatever is still to be read."""
        self._ending.now()

    def drain(self) -> None:
        """Read what is there, and no longer wait for more."""
        self._ending.drain.set()

    def verdict(self) -> Verdict:
        """Wait for the readers, and judge all that was read."""
        for log in self._logs.values():
            if log.thread:
                log.thread.join()
        errors = []
        for log in self._logs.values():
            if log.failure is not None:
                raise log.failure
            problem = log.reading and log.reading.said.extent.problem
            if isinstance(log.feed, GrowingFile) and not log.feed.there:
                if not self._ending.stop:
                    why = problem or "no such file: it did not come while it was awaited"
                    errors.append(f"{log.source.path}: {why}")
            elif log.reading is not None:
                self._run.take(log.source, log.reading)
        if not self._run.logs:
            raise InputError("\n".join(errors) or "no log came while it was awaited")
        sources = [log.source for log in self._logs.values()]
        read_all(traces(self._run, sources), self._run, self._terms.book)
        verdict = judge(self._run, self._terms, errors)
        self._tell_new(verdict.findings)
        return verdict

    def _tell_new(self, findings: Sequence[Finding]) -> None:
        """Tell what was not told yet, and what is judged otherwise by now."""
        for finding in findings:
            event = finding.event
            place = event.location and (event.location.file, event.location.line)
            key = (event.compiler, event.kind, event.op.casefold(), place)
            if self._told.get(key) is not finding.decision:
                self._told[key] = finding.decision
                self._tell(finding)

    def _find(self) -> None:
        """Follow what has come by now: files of a pattern, ranks of a folder."""
        sources: list[Source] = []
        for argument in self._arguments:
            if "://" in argument:
                raise InputError(
                    f"{shown(argument)}: only files are followed; judge it with `fallback-gate check`"
                )
            is_there = argument == "-" or os.path.lexists(self._cwd / argument)
            if is_there or not set(argument).isdisjoint("*?["):
                sources += expand([argument], self._cwd)[0]
            else:
                sources.append(Source(shown(argument), named=True, file=self._cwd / argument))
        for source in self._run.leave_out_reports(sources):
            if source.member is not None or source.problem or isinstance(source.file, Remote):
                raise InputError(f"{source.path}: no log that can grow; judge it with `fallback-gate check`")
            if source.key not in self._logs and not is_trace(source):
                self._follow(source)

    def _follow(self, source: Source) -> None:
        assert not isinstance(source.file, Remote)
        feed = Pipe(source.file) if source.once or source.file is None else GrowingFile(source.file)
        grown = Source(source.path, source.named, file=source.file, once=True)
        log = _Log(grown, feed, Followed(feed, self._ending))
        log.thread = Thread(target=self._read, args=(log,), daemon=True)
        self._logs[source.key] = log
        log.thread.start()

    def _read(self, log: _Log) -> None:
        """Read one log, in a thread of its own."""

        def tell(report: Report, process: ProcessKey) -> None:
            with self._lock:
                self._changed = True
                self._run.fold.add(report, process)

        try:
            log.followed.waiting = lambda: self._look(log)
            with log.followed.open(self._run.key) as stream:
                log.scan = Scan(self._terms.book.anchors, stream, count_lines=True, look=stream.look)
                said = read_log(log.source.path, log.scan, self._terms.book, tell)
            log.reading = Reading(said, True, stream.as_stored, stream.seal)
        except BaseException as failure:
            log.failure = failure
        finally:
            log.early = []

    def _look(self, log: _Log) -> None:
        """Nothing comes at the moment: read what stands at the end of the log. In the log's own thread."""
        if log.scan is None:
            return
        state = log.scan.extent.bytes, log.followed.quiet > SETTLED
        if state != log.looked:
            early = read_waiting(log.source.path, log.scan, self._terms.book, settled=state[1])
            with self._lock:
                log.early, log.looked = early, state
                self._changed |= bool(early)

    def _so_far(self) -> tuple[Finding, ...]:
        """What must be said of all that was gathered by now."""
        with self._lock:
            self._changed = False
            fold = self._run.fold.so_far()
            for log in self._logs.values():
                for report, process in log.early:
                    if not report.hint:
                        fold.add(report, process)
        return judged(fold.events(lambda log, at: {line: line for line in at}, {}), self._terms)[0]
