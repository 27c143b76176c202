#!/usr/bin/python3
"""_devtools.py: loads traces into the Performance panel of Chromium's DevTools and prints what it shows.

usage: _devtools.py [--picture FILE.png] TRACE...

One line a trace: the length of the range that the panel shows, in milliseconds, or "none" when it
shows no trace within some seconds. One browser serves the panel (its DevTools are pages of its own
debugging port), another one shows it. The panel's elements are inside shadow roots, which are
searched one by one.
"""
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run"]
FILE_INPUTS = """
const found = [];
(function walk(root) {
    for (const e of root.querySelectorAll('*')) {
        if (e.shadowRoot) walk(e.shadowRoot);
        if (e.matches('input[type=file]')) found.push(e);
    }
})(document);
return found;
"""
TEXT = """
let text = '';
(function walk(node) {
    if (node.nodeType === 3) { text += node.data + ' '; return; }
    if (node.nodeName === 'STYLE' || node.nodeName === 'SCRIPT') return;
    if (node.shadowRoot) walk(node.shadowRoot);
    for (const child of node.childNodes) walk(child);
})(document.body);
return text;
"""


def wait(seconds, what):
    """The first true value of what(), or the last one when the time is over."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.2)


@contextlib.contextmanager
def server(folder):
    """A browser that serves DevTools; yields the port, which it chooses itself."""
    process = subprocess.Popen(
        ["chromium", *FLAGS, "--user-data-dir=" + folder, "--remote-debugging-port=0",
         "--remote-allow-origins=*", "about:blank"], stderr=subprocess.DEVNULL)
    try:
        port_file = Path(folder, "DevToolsActivePort")
        if not wait(60, lambda: port_file.exists() and port_file.read_text().strip()):
            sys.exit("_devtools.py: chromium does not report its port")
        port = int(port_file.read_text().split()[0])
        json.load(urllib.request.urlopen("http://127.0.0.1:%d/json/version" % port))
        yield port
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def window():
    options = webdriver.ChromeOptions()
    for flag in FLAGS + ["--window-size=1100,760"]:
        options.add_argument(flag)
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    try:
        yield driver
    finally:
        driver.quit()


def shown(driver):
    """Milliseconds of the range, or None."""
    text = driver.execute_script(TEXT).replace("\xa0", " ")
    match = re.search(r"Full range \(([0-9.,]+) (ms|s|µs)\)", text)
    if not match:
        return None
    return float(match[1].replace(",", "")) * {"µs": 0.001, "ms": 1, "s": 1000}[match[2]]


def load(driver, port, trace, seconds):
    driver.get("http://127.0.0.1:%d/devtools/devtools_app.html?panel=timeline" % port)
    inputs = wait(60, lambda: driver.execute_script(FILE_INPUTS))
    if not inputs:
        sys.exit("_devtools.py: the panel has no place to load a file")
    inputs[0].send_keys(str(Path(trace).resolve()))
    return wait(seconds, lambda: shown(driver))


def picture(driver, path):
    """Closes what lies over the trace, opens the rows of the process and of its thread, looks closer."""
    body = driver.find_element(By.TAG_NAME, "body")
    width, height = body.size["width"], body.size["height"]

    def at(x, y):
        return ActionChains(driver).move_to_element_with_offset(body, x - width // 2,
                                                                y - height // 2)

    time.sleep(1)
    for x, y in [(width - 28, 77), (16, 40), (10, 129), (10, 147)]:
        at(x, y).click().perform()
        time.sleep(1)
    for _ in range(6):
        at(int(width * 0.01), 250).send_keys("w").perform()
        time.sleep(0.5)
    time.sleep(1)
    driver.save_screenshot(path)


def main():
    arguments = sys.argv[1:]
    image = None
    if arguments[:1] == ["--picture"]:
        image = arguments[1]
        arguments = arguments[2:]
    with tempfile.TemporaryDirectory() as folder, server(folder) as port, window() as driver:
        for trace in arguments:
            # A file that is refused never shows a time; one that is accepted shows it at once.
            milliseconds = load(driver, port, trace, 8 if "cut" in Path(trace).name else 60)
            print("none" if milliseconds is None else "%.3f" % milliseconds, flush=True)
        if image:
            picture(driver, image)


main()
