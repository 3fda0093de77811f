// What cannot be taken back is asked in a dialog. On the page it is a part that opens by itself, which works without script:
// this moves what it holds into a native <dialog>, where the focus stays and Escape goes back.
(() => {
  "use strict";
  let count = 0;

  const button = () => {
    const back = document.createElement("button");
    back.type = "submit";
    back.className = "button";
    back.autofocus = true; // what Enter does first is harmless
    back.setAttribute("formmethod", "dialog");
    back.textContent = "Back";
    return back;
  };

  const heading = (summary) => {
    const title = document.createElement("h2");
    title.id = `dialog-title-${++count}`;
    title.textContent = summary.textContent;
    return title;
  };

  const dialogOf = (details) => {
    const dialog = document.createElement("dialog");
    const summary = details.querySelector("summary");
    const title = heading(summary);
    dialog.className = "dialog";
    dialog.setAttribute("aria-labelledby", title.id);
    dialog.append(title, ...[...details.childNodes].filter((one) => one !== summary));
    const form = dialog.querySelector("form") || dialog.appendChild(document.createElement("form"));
    const back = button();
    back.formNoValidate = true;
    form.append(back);
    details.after(dialog);
    return dialog;
  };

  document.addEventListener("click", (event) => {
    const summary = event.target.closest("details.confirm > summary");
    if (!summary) return;
    event.preventDefault();
    const details = summary.parentElement;
    const known = details.nextElementSibling;
    const dialog = known && known.matches("dialog.dialog") ? known : dialogOf(details);
    details.open = false;
    dialog.showModal();
  });
})();
