"""The fixture itself, on a small notebook: a picture, a widget, an error, nothing left behind."""

import json
import socket
import time
import urllib.request

import nbformat
import pytest

pytestmark = pytest.mark.timeout(900)
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
CELLS = [
    "from IPython.display import display\nimport matplotlib.pyplot as plt\n%matplotlib inline",
    "figure, axes = plt.subplots(figsize=(4, 2))\naxes.plot([3, 1, 2]);",
    "import ipywidgets\nipywidgets.IntSlider(7, description='ranks')",
    "print(6 * 7)",
]


def write(lab, name, cells):
    cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    (lab.root / "notebooks").mkdir(exist_ok=True)
    nbformat.write(notebook, lab.root / "notebooks" / name)
    return f"notebooks/{name}"


def test_a_notebook_runs_through_the_menu(lab):
    page = lab.open(write(lab, "small.ipynb", CELLS))
    lab.run_all(page)
    assert lab.errors(page) == []
    assert page.locator(".jp-OutputArea-output img").evaluate("image => image.naturalWidth") > 100
    assert page.locator(".widget-slider").is_visible()
    path = lab.screenshot(page, "small")
    assert path.stat().st_size > 10_000
    assert lab.outside == []


def test_an_error_and_a_request_to_the_outside_are_seen(lab):
    html = "from IPython.display import HTML\nHTML('<img src=\"http://192.0.2.1/x.png\">')"
    page = lab.open(write(lab, "wrong.ipynb", [html, "1 / 0", "2"]))
    lab.run_all(page)
    assert "ZeroDivisionError" in lab.errors(page)[0]
    assert set(lab.outside) == {"http://192.0.2.1/x.png"}


def test_a_server_ends_with_its_kernels(start_jupyter, tmp_path):
    def answers(port):
        with socket.socket() as asked:
            return asked.connect_ex(("127.0.0.1", port)) == 0

    with start_jupyter(tmp_path, tmp_path / "home") as (url, token):
        headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/api/kernels", b"{}", headers, method="POST")
        kernel = json.loads(urllib.request.urlopen(request, timeout=60).read())["id"]
        facts = json.loads((tmp_path / f"home/runtime/kernel-{kernel}.json").read_text())
        ports = [int(url.rsplit(":")[-1]), facts["shell_port"]]
        deadline = time.monotonic() + 60
        while not all(map(answers, ports)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert all(map(answers, ports))
    assert not any(map(answers, ports))
