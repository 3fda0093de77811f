// After a refusal, "Back" goes back in the history where it can: there the form still holds what was typed.
(() => {
  "use strict";
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-back]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (history.length > 1 && link.href === document.referrer) {
      event.preventDefault();
      history.back();
    }
  });
})();
