// On a phone the tabs scroll sideways: this brings the current one into sight.
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    for (const strip of document.querySelectorAll(".tabs, .subtabs, .workspace-rail .guide-steps")) {
      const current = strip.querySelector("[aria-current]");
      if (!current) continue;
      strip.scrollLeft = current.offsetLeft - strip.offsetLeft - (strip.clientWidth - current.offsetWidth) / 2;
    }
  });
})();
