"""Axe finds nothing to blame on any page, light and dark, wide and narrow."""

from __future__ import annotations

from pathlib import Path

import pytest

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"

PAGES = {
    "index.html": ".tile",
    "metrics.html": ".metric-card svg.metric-plot",
    "rollouts/index.html": "[data-part=steps] tbody tr",
    "rollouts/step-0.html": ".step-rows tbody tr[data-row]",
    "rollouts/step-0.html?tab=groups": ".step-unfold",
    "rollouts/step-0.html?tab=anatomy": "canvas.step-lives",
    "rollouts/step-0.html?tab=distributions": "[data-part=distributions] svg",
    "rollouts/eval-1.html": ".step-rows tbody tr[data-row]",
    "sample.html?step=0&row=8": ".sample-conversation .message",
    "sample.html?step=0&row=8&tab=tokens": ".sample-tokens [data-i]",
    "sample.html?step=0&row=8&tab=raw": ".sample-raw *",
    "sample.html?step=0&row=99999": ".empty",
    "faults.html": "h1",
    "compute.html": ".phase-legend",
    "query.html": ".query-examples *",
    "query.html?search=status:aborted": "[data-part=search] a[href]",
    "notices.html": ".notice",
    "glossary.html": "dl, table",
}

FIND = """async () => {
  const found = await axe.run(document, { resultTypes: ['violations'] });
  return found.violations.flatMap(one => one.nodes.map(node => `${one.id}: ${node.target.join(' ')}: ${node.failureSummary}`));
}"""


@pytest.fixture(scope="module")
def axe():
    return AXE.read_text()


@pytest.mark.parametrize(("dark", "width"), [(False, 1440), (True, 1440), (False, 390)])
def test_no_page_is_blamed(site, chromium, axe, dark, width):
    root = site("agentic", jobs=1)
    context = chromium.new_context(
        viewport={"width": width, "height": 1000}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    wrong = []
    for path, drawn in PAGES.items():
        page.goto(root + path)
        page.locator(drawn).first.wait_for(state="attached")
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        page.evaluate(axe)
        wrong += [f"{path}: {one}" for one in page.evaluate(FIND)]
    context.close()
    assert not wrong, "\n".join(wrong)
