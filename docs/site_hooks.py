"""Hooks of the documentation site: a link to a file of the repository outside `docs/` becomes a download."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = re.compile(r"(?<=\]\()\.\./([\w./-]+\.(?:json|ya?ml)|[\w./-]+/Jenkinsfile)(?=\))")


def on_files(files: Any, config: Any) -> Any:
    """Add each file that a page links to, under `files/`."""
    from mkdocs.structure.files import File

    for page in [*files.documentation_pages()]:
        for name in OUTSIDE.findall(page.content_string):
            uri = f"files/{name.replace('/.', '/')}"
            if (ROOT / name).is_file() and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point those links at the copies."""
    return OUTSIDE.sub(lambda match: f"files/{match[1].replace('/.', '/')}", markdown)
