#!/usr/bin/python3
"""_check_roofline.py FILE...: checks rooflines: XML that refers to nothing, labels that overlap neither
each other nor a point, everything inside. Prints how many points, labels, roofs and rows each has."""

import re
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
NARROW, HIGH = 7.0, 10.0  # px of a character, of a label: smaller than a viewer's
NEAR = 0.01


def box_of_label(text):
    x, y = float(text.get("x")), float(text.get("y"))
    return x, y - HIGH, x + NARROW * len(text.text), y, text.text


def box_of_point(group):
    shape = group[1]
    if not group[0].text:
        raise ValueError("a point without a hover text")
    if shape.tag == SVG + "circle":
        x, y, r = (float(shape.get(name)) for name in ("cx", "cy", "r"))
        return x - r, y - r, x + r, y + r, group[0].text
    x, y, w = (float(shape.get(name)) for name in ("x", "y", "width"))
    return x, y, x + w, y + w, group[0].text


def overlap(a, b):
    return (a[0] + NEAR < b[2] and b[0] + NEAR < a[2] and a[1] + NEAR < b[3] and
            b[1] + NEAR < a[3])


def check(path):
    root = ElementTree.parse(path).getroot()
    width, height = float(root.get("width")), float(root.get("height"))
    classes = {}
    for element in root.iter():
        for name in (element.get("class") or "").split():
            classes.setdefault(name, []).append(element)
        for name, value in element.attrib.items():
            if name.split("}")[-1] in ("href", "src"):
                raise ValueError(f"{element.tag} refers to '{value}'")
            if name in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"):
                if not re.fullmatch(r"[0-9]+(\.[0-9]+)?%?", value):
                    raise ValueError(f"{element.tag}: {name}='{value}'")
                if float(value.rstrip("%")) > (height if "y" in name or name == "height" else width):
                    raise ValueError(f"{element.tag}: {name}='{value}' is outside")
    if "@import" in ElementTree.tostring(root, "unicode") or "url(" in "".join(root.itertext()):
        raise ValueError("it refers to another file")
    labels = [box_of_label(text) for text in classes.get("n", [])]
    points = [box_of_point(group) for group in classes.get("c", [])]
    for i, label in enumerate(labels):
        for other in labels[i + 1:] + points:
            if overlap(label, other):
                raise ValueError(f"'{label[4]}' covers '{other[4]}'")
    frame = classes["f"][0]
    if any(box[0] < float(frame.get("x")) for box in labels):
        raise ValueError("a label leaves the plot")
    print(len(points), "points,", len(labels), "labels,", len(classes.get("r", [])), "roofs,",
          len(classes.get("p", [])) - len(points) - 6 * bool(classes.get("p")), "rows")


for name in sys.argv[1:]:
    check(name)
