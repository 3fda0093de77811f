// Instants are written in UTC by the server. This adds the reader's own zone as a title, and fills countdowns.
(() => {
  "use strict";
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

  const label = (root) => {
    for (const time of root.querySelectorAll("time[data-instant]:not([title])")) {
      time.title = `${local.format(new Date(time.dateTime))} (${zone})`;
    }
  };

  const words = (seconds) => {
    const days = Math.floor(seconds / 86400);
    const hours = Math.floor((seconds % 86400) / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    if (days > 1) return `${days} days`;
    if (days === 1) return `1 day ${hours} h`;
    if (hours) return `${hours} h ${minutes} min`;
    return minutes ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(seconds)} s`;
  };

  const tick = () => {
    for (const span of document.querySelectorAll("[data-countdown]")) {
      const left = (new Date(span.dataset.countdown) - Date.now()) / 1000;
      span.textContent = left > 0 ? ` (in ${words(left)})` : "";
    }
  };

  document.addEventListener("DOMContentLoaded", () => { label(document); tick(); setInterval(tick, 1000); });
  document.addEventListener("htmx:afterSwap", (event) => { label(event.target.parentNode || document); tick(); });
})();
