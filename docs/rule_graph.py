"""Draw docs/images/rules.svg: the rules of a configuration, from top to bottom in the order in which they read each other's tables.

python docs/rule_graph.py [CONFIG]
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent / "images" / "rules.svg"
# Pixels: size of a box, and distance between the corners of neighbours, margin.
WIDTH, HEIGHT, COLUMN, ROW, MARGIN = 180, 34, 210, 68, 10
STYLE = (
    "rect{fill:#eef2ff;stroke:#4f5bd5}path{fill:none;stroke:#8a8fa3;stroke-width:1.5;marker-end:url(#end)}"
    "text{font:13px sans-serif;fill:#20243a;text-anchor:middle}#end path{fill:#8a8fa3;stroke:none}"
    "@media(prefers-color-scheme:dark){rect{fill:#262b47;stroke:#9aa4ff}text{fill:#e6e8f5}}"
)
TIP = '<marker id="end" markerWidth="8" markerHeight="8" refX="2" refY="4" orient="auto"><path d="M0 0L8 4L0 8z"/></marker>'
Edge = tuple[str, str]


def read_edges(config: str) -> set[Edge]:
    """Return (rule, rule that reads its tables) of a configuration."""
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--configfile", config]
    graph = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", graph))
    return {(names[start], names[end]) for start, end in re.findall(r"(id\d+) --> (id\d+)", graph)}


def followers(rule: str, edges: Iterable[Edge]) -> set[str]:
    """Return the rules that depend on a rule, directly or not."""
    direct = {end for start, end in edges if start == rule}
    return direct.union(*(followers(end, edges) for end in direct))


def draw(edges: set[Edge]) -> str:
    """Return the picture, without the arrows that follow from others."""
    shown = {(a, b) for a, b in edges if not any(b in followers(c, edges) for start, c in edges if start == a and c != b)}
    layers: dict[str, int] = {}

    def layer(rule: str) -> int:
        if rule not in layers:
            layers[rule] = 1 + max((layer(start) for start, end in shown if end == rule), default=-1)
        return layers[rule]

    rules = sorted({rule for edge in shown for rule in edge}, key=lambda rule: (layer(rule), rule))
    for rule in [rule for rule in rules if not layers[rule]]:
        # Nothing precedes it: it stands just above the first rule that reads its tables.
        layers[rule] = min(layers[end] for start, end in shown if start == rule) - 1
    places: dict[str, tuple[int, int]] = {}
    for rule in sorted(rules, key=lambda rule: (layers[rule], rule)):
        y = MARGIN + ROW * layers[rule]
        places[rule] = (MARGIN + COLUMN * sum(other == y for _, other in places.values()), y)
    width, height = max(x for x, _ in places.values()) + WIDTH + MARGIN, max(y for _, y in places.values()) + HEIGHT + MARGIN
    arrows, boxes = [], []
    for start, end in sorted(shown):
        (x, y), (to_x, to_y) = places[start], places[end]
        x, y, to_x, to_y = x + WIDTH // 2, y + HEIGHT, to_x + WIDTH // 2, to_y - 6
        arrows.append(f'<path d="M{x} {y}C{x} {y + 24} {to_x} {to_y - 24} {to_x} {to_y}"/>')
    for rule, (x, y) in places.items():
        boxes.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>')
        boxes.append(f'<text x="{x + WIDTH // 2}" y="{y + 22}">{escape(rule)}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"><style>{STYLE}</style>'
    return "\n".join([head, TIP, *arrows, *boxes, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(read_edges(*(sys.argv[1:2] or ["config.yaml"]))), "utf-8")
