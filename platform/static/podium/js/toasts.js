// News of the last action float above the page and are read out. Good news go by themselves; what went wrong stays until it is
// closed. A request of htmx that is refused sends its sentence in a header (HX-Trigger), and it is shown in the same way.
(() => {
  "use strict";
  const SHOWN_MS = 12000;

  const keep = (toast) => toast.matches(".error, .warning, :hover, :focus-within") || toast.querySelector("a");

  const leave = (toast) => setTimeout(() => (keep(toast) ? leave(toast) : toast.remove()), SHOWN_MS);

  const show = (region, toast) => {
    if (!toast.querySelector("button")) {
      const close = document.createElement("button");
      close.type = "button";
      close.className = "toast-close";
      close.setAttribute("aria-label", "Close this message");
      close.textContent = "×";
      close.addEventListener("click", () => toast.remove());
      toast.append(close);
    }
    region.append(toast); // what is put into the page is read out, what it came with is not
    leave(toast);
  };

  const made = ({ text, tag, url }) => {
    const toast = document.createElement("p");
    toast.className = `message ${tag}`;
    toast.setAttribute("role", tag === "error" ? "alert" : "status");
    toast.textContent = `${text} `;
    if (url) {
      const link = document.createElement("a");
      link.href = url;
      link.textContent = "Go there";
      toast.append(link);
    }
    return toast;
  };

  document.addEventListener("DOMContentLoaded", () => {
    const region = document.getElementById("toasts");
    for (const toast of [...region.children]) show(region, toast);
    document.body.addEventListener("toast", ({ detail }) => {
      const toast = made(detail);
      const isShown = [...region.children].some((one) => one.firstChild.textContent === toast.firstChild.textContent);
      if (!isShown) show(region, toast); // what is asked for every few seconds is refused once
    });
  });
})();
