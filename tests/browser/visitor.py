"""One person at the browser: a page that records errors, and steps that tests share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, Response, expect
from playwright.sync_api import Error as PlaywrightError

from tests.browser.seeding.place import PASSWORD

PATIENCE_MS = 30_000  # for what a page comes to: a busy machine may be slow, and a page that is wrong stays wrong
expect.set_options(timeout=PATIENCE_MS)
# A violation of the policy is an event before it is a line on the console; some are events alone.
REPORT_CSP = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP ${event.violatedDirective}: ${event.blockedURI} ${event.sample} ${event.sourceFile}`));
"""
OF_COLOURS = (
    "color-contrast",
    "link-in-text-block",
)  # axe's rules that the dark scheme can break where the light one holds
# An engine beside the browser attaches containers to networks, and Chromium then breaks off what it is loading.
NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"
SCRIPT_ERROR = "script error:"
# The page that says so may arrive late, and then breaks off the next try.
ERROR_PAGE = 'interrupted by another navigation to "chrome-error://'
SERIOUS = ("serious", "critical")
# A rule that says how grave it is says so of all that it finds: those that are never serious need not run.
# Contrast takes axe three times as long as all other rules, a millisecond a text: of texts in one style on the same backgrounds it
# looks at the first that the visitor meets, on whatever page. A link's style is also that of the text around it.
RUN_AXE = """async ([colours, serious, alike, seen]) => {
  const backgrounds = new Map([[null, ""]]), firsts = new Map(), known = new Set(seen), mark = "data-first-of-its-style";
  const behind = (one) => {
    if (!backgrounds.has(one)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(one);
      const own = [backgroundColor, backgroundImage, opacity].join(), further = behind(one.parentElement);
      backgrounds.set(one, own === "rgba(0, 0, 0, 0),none,1" ? further : [further, own].join());
    }
    return backgrounds.get(one);
  };
  const around = (one) => {
    if (!one.matches("a[href]")) return "";
    const { textDecorationLine, borderBottomStyle, fontStyle } = getComputedStyle(one);
    const { color, fontWeight } = getComputedStyle(one.parentElement);
    return [textDecorationLine, borderBottomStyle, fontStyle, color, fontWeight].join();
  };
  const hasText = (one) => one.matches("input, select, textarea")
    || [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  for (const one of document.body.querySelectorAll("*")) {
    if (!hasText(one) || !one.checkVisibility() || one.closest(alike)) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(one);
    const style = [color, fontSize, fontWeight, textShadow, behind(one), around(one)].join();
    if (!known.has(style) && !firsts.has(style)) firsts.set(style, one);
  }
  if (colours.length && !firsts.size) return [[], []];
  for (const one of firsts.values()) one.setAttribute(mark, "");
  axe.configure({ rules: [{ id: "color-contrast", selector: `[${mark}]` }] });
  const isLeftOut = ({ impact }) => impact && !serious.includes(impact);
  const rules = colours.length
    ? { runOnly: colours }
    : { rules: Object.fromEntries(axe._audit.rules.filter(isLeftOut).map(({ id }) => [id, { enabled: false }])) };
  // With `preload` it would write styles into the page.
  const { violations } = await axe.run({ exclude: [[alike]] }, { resultTypes: ["violations"], preload: false, ...rules });
  for (const one of firsts.values()) one.removeAttribute(mark);
  return [violations, [...firsts.keys()]];
}"""
# Of a long table the first rows and those with a class of their own say all that there is to find.
ROWS_ALIKE = "tbody > tr:nth-child(n + 11):not([class])"
# Django's own markup: rows of its tabular inlines are labelled by their column's heading alone, icons by a label without role.
OF_DJANGO = {"label-title-only", "aria-prohibited-attr"}
# Until then a busy machine may lay out by the rules of the window's width before.
NEXT_FRAMES = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


@dataclass
class Visitor:
    """A browser context with one page; `check` fails on unexpected console output."""

    context: BrowserContext
    url: str
    page: Page = field(init=False)
    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=lambda: [NETWORK_CHANGED])
    styles_seen: list[str] = field(default_factory=list)  # of texts whose contrast was looked at

    def __post_init__(self) -> None:
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.add_init_script(REPORT_CSP)
        self.page = self.context.new_page()
        self.page.on("console", self._note_message)
        self.page.on("pageerror", lambda error: self.faults.append(f"{SCRIPT_ERROR} {error}"))
        self.page.on("response", self._note_response)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{self.page.url}: {message.text}")

    def _note_response(self, response: Response) -> None:
        if response.status >= 500:
            self.faults.append(f"{response.url} answered {response.status}")

    def expect_on_console(self, pattern: str) -> None:
        """A refusal or a cut connection that the test itself brings about."""
        self.expected.append(pattern)

    def check(self) -> None:
        """Nothing on the console, no violation of the policy, no error of a script or of the site."""
        expected = list(self.expected)
        if any(NETWORK_CHANGED in fault for fault in self.faults):
            expected.append(SCRIPT_ERROR)  # of a script that misses the one which was broken off
        unexpected = [fault for fault in self.faults if not any(re.search(pattern, fault) for pattern in expected)]
        assert not unexpected, "\n".join(unexpected)

    def forget(self) -> None:
        """Forget what was on the console: it is the last test's."""
        self.faults.clear()

    def visit(self, path: str) -> Page:
        """Open a page of the site, again where a change of the network broke off a part of it."""
        for pause_ms in (200, 1000, 3000):
            before = len(self.faults)
            try:
                self.page.goto(self.url + path)
                if not any(NETWORK_CHANGED in fault for fault in self.faults[before:]):
                    return self.page
                del self.faults[before:]  # of a page that was not whole
            except PlaywrightError as error:
                if NETWORK_CHANGED not in error.message and ERROR_PAGE not in error.message:
                    raise
                self.page.wait_for_timeout(pause_ms)
        self.page.goto(self.url + path)
        return self.page

    def sign_in_by_requests(self, name: str) -> None:
        """Send what the form sends, for tests that begin with somebody who is signed in."""
        address = f"{self.url}/accounts/login/"
        form: dict[str, str | float | bool] = {"login": name, "password": PASSWORD}
        form["csrfmiddlewaretoken"] = self._form_token(address)
        answer = self.context.request.post(address, form=form, headers={"Referer": address}, max_redirects=0)
        assert answer.status == 302, answer.text()

    def _form_token(self, address: str) -> str:
        token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', self.context.request.get(address).text())
        assert token, f"{address} has no form"
        return token[1]

    def sign_in(self, name: str, password: str = PASSWORD) -> Page:
        """Through the form, as a person does."""
        self.visit("/accounts/login/")
        self.page.get_by_label("User name or e-mail address").fill(name)
        self.page.get_by_label("Password", exact=True).fill(password)
        self.main.get_by_role("button", name="Sign in", exact=True).click()
        self.page.wait_for_url(lambda url: "/accounts/login" not in url)
        return self.page

    @property
    def main(self) -> Locator:
        """The page without its header and footer."""
        return self.page.locator("main")

    def join(self, slug: str) -> None:
        """Accept the rules."""
        self.visit(f"/competitions/{slug}/rules/")
        self.page.get_by_label(re.compile("I have read and accept")).check()
        self.page.get_by_role("button", name="Join competition").click()

    def name_team(self, slug: str, name: str) -> None:
        """Give the team that one has since joining a name."""
        self.visit(f"/competitions/{slug}/team/")
        self.page.get_by_label("Team name").fill(name)
        self.page.get_by_role("button", name="Rename").click()

    def accessibility_faults(self, colours: Sequence[str] = ()) -> list[str]:
        """Serious and worse violations that axe finds on the page: by all rules, or by these on colours."""
        if not self.page.evaluate("'axe' in window"):  # it is half a megabyte of script
            self.page.evaluate(AXE_SCRIPT)
        violations: list[dict[str, Any]]
        violations, styles = self.page.evaluate(RUN_AXE, [list(colours), list(SERIOUS), ROWS_ALIKE, self.styles_seen])
        self.styles_seen += styles
        return [
            f"{self.page.url}: {violation['id']} ({violation['help']}): {node['html'][:160]}"
            for violation in violations
            if violation["impact"] in SERIOUS
            for node in violation["nodes"]
            if not (violation["id"] in OF_DJANGO and "/admin/" in self.page.url)
        ]

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def settled_overflow(self) -> int:
        """The same, once the window's new width was drawn, and charts have had up to ten seconds to follow it."""
        self.page.evaluate(NEXT_FRAMES)
        for _ in range(100):
            if self.overflow() <= 0:
                break
            self.page.wait_for_timeout(100)
        return self.overflow()
