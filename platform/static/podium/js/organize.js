// Narrows a list of choices to those that hold every word of the search field. Shows what belongs to the choice that is
// made, and hides what belongs to others. Files are uploaded as soon as they are chosen.
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
      group.hidden = ![...group.querySelectorAll("input")].some((input) => !input.closest("[hidden]"));
    }
  };

  const showWhatBelongs = () => {
    for (const part of document.querySelectorAll("[data-only-with]")) {
      const [name, value] = part.dataset.onlyWith.split("=");
      part.hidden = document.querySelector(`[name="${name}"]:checked`)?.value !== value;
    }
  };
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
