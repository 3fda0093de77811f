// Copies what a button names, and prints a receipt alone. Without script it is text to select, and a file to download.
(() => {
  "use strict";
  const SHOWN_MS = 2000;

  // Browsers give a page the clipboard only over HTTPS; elsewhere the text is selected, and the keyboard copies it.
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      return "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      return "Selected: press Ctrl+C";
    }
  };

  const copyFor = async (button) => {
    const label = button.textContent;
    button.setAttribute("aria-live", "polite");
    button.disabled = true;
    button.textContent = await copy(document.getElementById(button.dataset.copy));
    setTimeout(() => { button.textContent = label; button.disabled = false; }, SHOWN_MS);
  };

  document.addEventListener("click", ({ target }) => {
    if (target.dataset.copy) copyFor(target);
    if (target.dataset.print) {
      document.getElementById(target.dataset.print).dataset.printed = "";
      print();
    }
  });
  addEventListener("afterprint", () => {
    for (const one of document.querySelectorAll("[data-printed]")) delete one.dataset.printed;
  });
})();
