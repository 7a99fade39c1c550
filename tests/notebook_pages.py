"""Example notebooks as pages of the site, with what they show. MkDocs calls these functions while it builds."""

import base64
import html
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tests.notebooks import read


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook. The notebook itself stays, to be downloaded."""
    for file in list(files):
        if file.src_uri.endswith(".ipynb") and file.abs_src_path is not None:
            content = page(Path(file.abs_src_path))
            files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to notebooks lead to their pages."""
    return re.sub(r"\((notebooks/[\w-]+)\.ipynb\)", r"(\1.md)", markdown)


def page(path: Path) -> str:
    """A notebook as Markdown."""
    parts = []
    for cell in read(path).cells:
        parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
        parts += [_shown(output) for output in cell.get("outputs", ())]
    return "\n\n".join([*parts, f"[This notebook as a file]({path.name}){{ download }}"]) + "\n"


def _shown(output: Any) -> str:
    """What a cell shows: a picture, a table, or else words."""
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    words = output.data["text/plain"]
    if "image/svg+xml" in output.data:
        drawn = base64.b64encode(output.data["image/svg+xml"].encode()).decode()
        said = html.escape(words.removeprefix("<Picture: ").removesuffix(">"))
        return f'<p><img alt="{said}" src="data:image/svg+xml;base64,{drawn}"></p>'
    if "text/html" in output.data:
        table = re.sub(r"<style.*?</style>|\n\s*", "", output.data["text/html"], flags=re.DOTALL)
        table = re.sub(r"<(table|tr) [^>]*>", r"<\1>", table)  # the site's own style
        return f'<div style="overflow-x: auto">{table}</div>'
    return f"```text\n{words}\n```"
