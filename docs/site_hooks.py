"""Hooks of the documentation site: files of the repository that a page links to come along."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = re.compile(r"(?<=\]\()\.\./([\w./-]+\.(?:json|ya?ml|md)|[\w./-]+/Jenkinsfile)(?=\))")


def on_files(files: Any, config: Any) -> Any:
    """Add each file that a page links to, under `files/`."""
    from mkdocs.structure.files import File

    for page in [page for page in files.documentation_pages() if "/" not in page.src_uri]:
        for name in OUTSIDE.findall(page.content_string):
            uri = f"files/{name.replace('/.', '/')}"
            if (ROOT / name).is_file() and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point those links at the copies, and the copies' own links at the pages."""
    if page.file.src_uri.startswith("files/"):
        return markdown.replace("](docs/", "](../")
    if "/" in page.file.src_uri:
        return markdown
    return OUTSIDE.sub(lambda match: f"files/{match[1].replace('/.', '/')}", markdown)
