// Instants are written in UTC by the server. This adds the reader's own zone (as a title, and beside what is counted down
// to), says how long ago an instant was where the page asks for that, and fills countdowns by the clock of the site.
(() => {
  "use strict";
  const NEAR_MS = 24 * 3600 * 1000;
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isUtc = ["UTC", "Etc/UTC"].includes(zone);
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const ahead = new Set(); // what was still to come when this page was loaded
  let offset = 0; // milliseconds by which the site's clock is ahead of this computer's

  const label = (root) => {
    for (const time of root.querySelectorAll("time[data-instant]:not([title]), time[data-ago]:not([title]), time[data-left]:not([title])")) {
      const own = `${local.format(new Date(time.dateTime))} (${zone})`;
      time.title = time.matches("[data-ago], [data-left]") ? `${time.textContent}, ${own}` : own;
    }
  };

  const now = () => Date.now() + offset;

  const ago = (instant) => {
    const seconds = Math.round((instant - now()) / 1000);
    const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) || ["second", 1];
    return relative.format(Math.trunc(seconds / length), unit);
  };

  const words = (seconds) => {
    const days = Math.floor(seconds / 86400);
    const hours = Math.floor((seconds % 86400) / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    if (days >= 3) return `${days} days`;
    if (days) return `${days} day${days > 1 ? "s" : ""}${hours ? ` ${hours} h` : ""}`;
    if (hours) return `${hours} h ${minutes} min`;
    return minutes ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(seconds)} s`;
  };

  const here = (instant) => {
    if (isUtc) return "";
    const isToday = instant.toDateString() === new Date().toDateString();
    return `, ${(isToday ? clock : local).format(instant)} in ${zone.replaceAll("_", " ")}`;
  };

  const countdown = (span) => {
    const instant = new Date(span.dataset.countdown);
    const left = (instant - now()) / 1000;
    if (left > 0) {
      ahead.add(span.dataset.countdown);
      return ` (in ${words(left)}${here(instant)})`;
    }
    return ahead.has(span.dataset.countdown) ? " (this has passed: load the page again)" : "";
  };

  const tick = () => {
    for (const time of document.querySelectorAll("time[data-ago]")) time.textContent = ago(new Date(time.dateTime));
    for (const time of document.querySelectorAll("time[data-left]")) {
      const seconds = (new Date(time.dateTime) - now()) / 1000;
      time.textContent = seconds > 0 ? `in ${words(seconds)}` : ago(new Date(time.dateTime));
      time.dataset.told = "";
    }
    for (const span of document.querySelectorAll("[data-countdown]")) {
      const text = countdown(span);
      if (span.textContent !== text) span.textContent = text;
      const left = new Date(span.dataset.countdown) - now();
      span.classList.toggle("near", left > 0 && left < NEAR_MS);
    }
  };

  // A deadline is kept by the site's clock, and computers go wrong by minutes: when one is near, ask.
  const askTheTime = async () => {
    const all = [...document.querySelectorAll("[data-countdown]")].map((span) => new Date(span.dataset.countdown) - Date.now());
    if (!all.some((left) => left > 0 && left < NEAR_MS)) return;
    const answer = await fetch("/healthz", { cache: "no-store" }).catch(() => null); // without an answer: this computer's
    const theirs = answer && Date.parse(answer.headers.get("Date"));
    if (theirs && Math.abs(theirs - Date.now()) > 5000) offset = theirs - Date.now();
  };

  const all = () => { label(document); tick(); };
  document.addEventListener("DOMContentLoaded", () => { all(); setInterval(tick, 1000); askTheTime(); });
  document.addEventListener("htmx:afterSettle", all);
})();
