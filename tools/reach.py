"""reach.py: what the checks of includes share."""


def reach(edges, start):
    """Everything that `start` leads to along `edges` (a dict of iterables), itself only by a circle."""
    seen, waiting = set(), list(edges.get(start, ()))
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += edges.get(node, ())
    return seen
