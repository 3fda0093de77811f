// Instants are written in UTC by the server. This adds the reader's own zone as a title, says how long ago an instant
// was where the page asks for that, and fills countdowns.
(() => {
  "use strict";
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

  const label = (root) => {
    for (const time of root.querySelectorAll("time[data-instant]:not([title]), time[data-ago]:not([title])")) {
      const own = `${local.format(new Date(time.dateTime))} (${zone})`;
      time.title = time.hasAttribute("data-ago") ? `${time.textContent}, ${own}` : own;
    }
  };

  const ago = (instant) => {
    const seconds = Math.round((instant - Date.now()) / 1000);
    const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) || ["second", 1];
    return relative.format(Math.trunc(seconds / length), unit);
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
    for (const time of document.querySelectorAll("time[data-ago]")) time.textContent = ago(new Date(time.dateTime));
    for (const span of document.querySelectorAll("[data-countdown]")) {
      const left = (new Date(span.dataset.countdown) - Date.now()) / 1000;
      span.textContent = left > 0 ? ` (in ${words(left)})` : "";
    }
  };

  const all = () => { label(document); tick(); };
  document.addEventListener("DOMContentLoaded", () => { all(); setInterval(tick, 1000); });
  document.addEventListener("htmx:afterSettle", all);
})();
