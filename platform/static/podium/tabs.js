// On a phone the tabs scroll sideways: this brings the current one into sight.
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    for (const current of document.querySelectorAll(".tabs [aria-current], .subtabs [aria-current], .workspace-rail [aria-current]")) {
      const strip = current.closest("ul") || current.parentElement;
      strip.scrollLeft = current.offsetLeft - strip.offsetLeft - (strip.clientWidth - current.offsetWidth) / 2;
    }
  });
})();
