// News of the last action stand on top of the page that it led to, and are read out. A request of htmx that is refused sends its
// sentence in a header (HX-Trigger): it floats above the page, unless that would cover a form; then it stands on top, too. What
// floats and is good news goes by itself.
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
  };

  const coversForm = (region) => {
    const box = region.getBoundingClientRect();
    return [...document.querySelectorAll("main form")].some((form) => {
      const other = form.getBoundingClientRect();
      return other.width && other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top;
    });
  };

  const float = (region, toast) => {
    const stands = region.querySelector(".message:not(.floats)");
    toast.classList.add("floats");
    show(region, toast);
    region.classList.toggle("floating", !stands);
    if (coversForm(region)) region.classList.remove("floating");
    if (region.classList.contains("floating")) leave(toast); else toast.scrollIntoView({ block: "nearest" });
  };

  const made = ({ text, tag, url, label }) => {
    const toast = document.createElement("p");
    toast.className = `message ${tag}`;
    toast.setAttribute("role", tag === "error" ? "alert" : "status");
    toast.textContent = `${text} `;
    if (url) {
      const link = document.createElement("a");
      link.href = url;
      link.textContent = label;
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
      if (!isShown) float(region, toast); // what is asked for every few seconds is refused once
    });
  });
})();
