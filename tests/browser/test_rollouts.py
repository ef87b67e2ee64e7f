from __future__ import annotations

CELLS = """() => [...document.querySelectorAll('[data-part="steps"] tbody tr')]
  .map(row => [...row.cells].map(cell => cell.textContent.trim()))"""
HEADS = (
    """() => [...document.querySelectorAll('[data-part="steps"] thead tr:last-child th')].length"""
)


def test_the_list_says_the_same_with_and_without_script(open_page, site):
    url = site("agentic") + "rollouts/index.html"
    still = open_page(url, javascript=False)
    written = still.locator('[data-part="steps"] tbody tr').all()
    static = [[cell.strip() for cell in row.locator("td").all_text_contents()] for row in written]
    page = open_page(url)
    page.wait_for_selector('[data-part="steps"] th button')
    assert page.evaluate(CELLS) == static
    assert page.evaluate(HEADS) == len(static[0])
