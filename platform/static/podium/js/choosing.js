// Selects all rows of a list, or none, and says how many are selected.
(() => {
  "use strict";
  const boxes = (form) => [...form.querySelectorAll('[name="chosen"]')];

  const show = (form) => {
    const [part, all] = [form.querySelector("[data-choose-all]"), boxes(form)];
    const count = all.filter((box) => box.checked).length;
    const box = part.querySelector("input");
    box.checked = count === all.length;
    box.indeterminate = count > 0 && count < all.length;
    part.querySelector("output").textContent = count ? `${count} selected` : "";
    part.hidden = false;
  };

  const forms = () => [...document.querySelectorAll("form:has([data-choose-all])")];
  document.addEventListener("change", ({ target }) => {
    const form = target.form;
    if (!forms().includes(form)) return;
    if (target.closest("[data-choose-all]")) for (const box of boxes(form)) box.checked = target.checked;
    show(form);
  });
  addEventListener("pageshow", () => forms().forEach(show)); // a browser that goes back ticks the boxes again
})();
