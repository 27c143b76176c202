#!/usr/bin/python3
"""Checks a picture: _check_svg.py FILE... prints how many boxes and labels each has, or fails.

It must be XML and refer to no other file. Its numbers must be numbers, and its elements must lie inside
the picture. A box (class "n") must lie inside a box of the row above and must not overlap those of its
own row; neither must a run of a stage (class "r"). A label must fit into its box.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height")
NARROWEST = 7.0  # px of a character: a label that fits by this measure fits by a viewer's font
ROW = 18
NEAR = 0.003


def number(text):
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?%?", text):
        raise ValueError(f"'{text}' is not a number")
    return float(text.rstrip("%"))


def check_numbers(root):
    for element in root.iter():
        for name, value in element.attrib.items():
            if name in NUMBERS:
                if number(value) < 0:
                    raise ValueError(f"{element.tag}: {name}='{value}' is negative")
            if name in ("points", "d", "viewBox"):
                for word in re.split(r"[\s,]+|(?<=[MLHVZ])|(?=[MLHVZ])", value):
                    if word and word not in "MLHVZ":
                        number(word)
            if name.split("}")[-1] in ("href", "src"):
                raise ValueError(f"{element.tag} refers to '{value}'")


def box_of(group):
    rect = group.find(SVG + "rect")
    x, y, width = (float(rect.get(name)) for name in ("x", "y", "width"))
    title = group.find(SVG + "title").text
    if not title:
        raise ValueError("a box without a hover text")
    label = group.find(SVG + "text")
    if label is not None and label.text:
        if len(label.text) * NARROWEST > width:
            raise ValueError(f"the label '{label.text}' does not fit into {width} px")
        if label.text[0] != title[0]:
            raise ValueError(f"the label '{label.text}' is not that of '{title}'")
    return x, y, x + width, title, label is not None and bool(label.text)


def check_section(section, whole):
    boxes = [box_of(group) for group in section.iter(SVG + "g") if group.get("class") == "n"]
    top = min(box[1] for box in boxes)
    rows = {}
    for box in boxes:
        rows.setdefault(box[1], []).append(box)
    for y, row in rows.items():
        row.sort()
        for left, right in zip(row, row[1:]):
            if left[2] > right[0] + NEAR:
                raise ValueError(f"'{left[3]}' covers '{right[3]}'")
        for x, _, end, title, _ in row:
            if end > whole + NEAR:
                raise ValueError(f"'{title}' leaves the picture")
            if y > top and not any(p[0] <= x + NEAR and end <= p[2] + NEAR
                                   for p in rows.get(y - ROW, [])):
                raise ValueError(f"'{title}' hangs below nothing")
    return len(boxes), sum(box[4] for box in boxes)


def check_beside(boxes):
    rows = {}
    for box in boxes:
        rows.setdefault(box[1], []).append(box)
    for row in rows.values():
        row.sort()
        for left, right in zip(row, row[1:]):
            if left[2] > right[0] + 0.5 + NEAR:  # nothing is narrower than half a pixel
                raise ValueError(f"'{left[3]}' covers '{right[3]}'")


def check_inside(root):
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for name, most in (("x", width), ("cx", width), ("x2", width), ("y", height),
                           ("cy", height), ("y2", height)):
            value = element.get(name)
            if value and float(value) > most + NEAR:
                raise ValueError(f"{element.tag}: {name}='{value}' is outside")
        for command, value in re.findall(r"([HV])([0-9.]+)", element.get("d") or ""):
            if float(value) > (width if command == "H" else height):
                raise ValueError(f"a line leaves the picture: {command}{value}")


def main():
    for path in sys.argv[1:]:
        root = ElementTree.parse(path).getroot()
        if root.tag != SVG + "svg":
            raise ValueError(f"{path} is a '{root.tag}'")
        check_numbers(root)
        check_inside(root)
        runs = [box_of(g) for g in root.iter(SVG + "g") if g.get("class") == "r"]
        check_beside(runs)
        sections = [g for g in root.iter(SVG + "g") if g.get("class") == "s"]
        counts = [check_section(section, float(root.get("width"))) for section in sections]
        print(len(counts), "sections,", sum(c[0] for c in counts), "boxes,",
              sum(c[1] for c in counts), "labels,", len(runs), "runs,",
              sum(1 for _ in root.iter(SVG + "circle")), "marks")


main()
