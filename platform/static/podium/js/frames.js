// Detailed results lie in frames of an origin of their own. Each says how high it is; a height within bounds is taken, so that no page
// inside can push the rest out of sight, and the scheme of the site where the page says that it can be drawn in both.
(() => {
  "use strict";
  const LEAST = 120;
  const MOST = 3000;

  addEventListener("message", ({ source, data }) => {
    const frame = [...document.querySelectorAll("iframe.detailed")].find((each) => each.contentWindow === source);
    if (!frame || !data || !Number.isFinite(data.height)) return;
    frame.style.height = `${Math.min(MOST, Math.max(LEAST, data.height)) + 2}px`; // and its borders
    frame.classList.toggle("in-both-schemes", data.isInBothSchemes === true);
  });
})();
