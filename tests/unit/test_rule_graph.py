"""The picture of the rules: layers in the order of the work, and no arrow that follows from others."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import rule_graph


def test_a_picture_of_five_rules() -> None:
    edges = {("task", "answers"), ("answers", "labels"), ("assets", "labels"), ("labels", "scores"), ("answers", "scores")}
    picture = rule_graph.draw(edges)
    ElementTree.fromstring(picture)
    boxes = re.findall(r'<rect x="(\d+)" y="(\d+)"[^>]*/>\n<text [^>]*>(\w+)</text>', picture)
    layers = {name: (int(y) - rule_graph.MARGIN) // rule_graph.ROW for _, y, name in boxes}
    assert layers == {"task": 0, "answers": 1, "assets": 1, "labels": 2, "scores": 3}
    assert len({(x, y) for x, y, _ in boxes}) == 5
    # That of answers and scores follows from two others.
    assert picture.count('"/>\n') - len(boxes) == len(edges) - 1
