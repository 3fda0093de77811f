// Narrows a list of choices to those that hold every word of the search field. Shows what belongs to the choice that is
// made, and hides what belongs to others. Files are uploaded as soon as they are chosen; that loads the page again, with what was
// entered into the step meanwhile.
(() => {
  "use strict";

  const narrow = (field) => {
    const words = field.value.toLowerCase().split(/\s+/);
    const list = document.querySelector(field.dataset.filter);
    for (const label of list.querySelectorAll("label")) {
      const input = label.querySelector("input");
      if (!input) continue;
      const about = `${label.textContent} ${input.value}`.toLowerCase();
      label.parentElement.hidden = !input.checked && !words.every((word) => about.includes(word));
    }
    for (const group of list.querySelectorAll(":scope > div > div:has(> label)")) {
      group.hidden = ![...group.querySelectorAll("label")].some((label) => !label.parentElement.hidden);
    }
  };

  const showWhatBelongs = () => {
    for (const part of document.querySelectorAll("[data-only-with]")) {
      const [names, values] = part.dataset.onlyWith.split("=");
      const chosen = names.split(",").map((name) => `[name="${name}"]:checked:not(:disabled)`).join();
      const isShown = [...document.querySelectorAll(chosen)].some((one) => values.split(" ").includes(one.value));
      part.hidden = !isShown;
      part.disabled = !isShown; // what nobody sees is not sent
    }
    const first = document.querySelector('[name="metric"]:checked')?.value;
    for (const box of document.querySelectorAll('[name="more"]')) box.closest("div").hidden = box.value === first;
  };
  // What differs from what the site sent: its own proposals are not replaced by those of the page before.
  const wasChanged = (control) => {
    if (["radio", "checkbox"].includes(control.type)) return control.checked !== control.defaultChecked;
    if (control.options) return control.selectedIndex !== Math.max(0, [...control.options].findIndex((option) => option.defaultSelected));
    return control.value !== control.defaultValue;
  };

  const isSending = () => Boolean(document.querySelector('form[data-upload] input[type="file"]:disabled'));

  const keepStep = (form) => {
    const name = `podium-step:${location.pathname}`;
    const controls = () => [...form.elements].filter((control) => control.name && !["hidden", "file", "submit"].includes(control.type));
    const isReloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
    const entered = (isReloaded && JSON.parse(sessionStorage.getItem(name))) || [];
    sessionStorage.removeItem(name);
    for (const [field, value, checked] of entered) {
      const control = controls().find((one) => one.name === field && (checked === null || one.value === value));
      if (!control) continue;
      if (checked === null) control.value = value; else control.checked = checked;
    }
    let isSent = false;
    const next = `${name}:next`; // Next was pressed while a file is sent: the page that shows the file presses it again
    const wasPressed = sessionStorage.getItem(next);
    sessionStorage.removeItem(next);
    form.addEventListener("submit", (event) => {
      if (!isSending() || event.submitter?.value === "back") { isSent = true; return; }
      event.preventDefault();
      sessionStorage.setItem(next, "pressed");
      form.querySelector("[data-next-waits]").hidden = false;
    });
    addEventListener("pagehide", () => {
      const changed = controls().filter(wasChanged);
      const values = changed.map((one) => [one.name, one.value, ["radio", "checkbox"].includes(one.type) ? one.checked : null]);
      if (!isSent) sessionStorage.setItem(name, JSON.stringify(values));
      if (document.querySelector("[data-upload-error]:not([hidden])")) sessionStorage.removeItem(next);
    });
    if (isReloaded && wasPressed) form.requestSubmit(form.querySelector('[name="go"][value="next"]'));
  };
  const step = document.querySelector(".step-form");
  if (step) keepStep(step);
  showWhatBelongs();
  document.addEventListener("change", showWhatBelongs);

  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-filter]")) narrow(event.target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-filter]")) event.preventDefault();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-upload-at-once] input[type=file]") && event.target.files.length) event.target.form.requestSubmit();
  });
})();
