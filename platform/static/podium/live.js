// A run's page is replaced every two seconds while it runs. This keeps what the reader opened or closed, and their place in
// the log; a log that is read at its end stays at its end.
(() => {
  "use strict";
  const NEAR_END_PX = 40;
  const open = new Map();
  const place = new Map();

  const follow = (root) => {
    for (const log of root.querySelectorAll("[data-follow]")) {
      const kept = place.get(log.id);
      log.scrollTop = kept === undefined || kept === null ? log.scrollHeight : kept;
    }
  };

  document.addEventListener("htmx:beforeSwap", () => {
    for (const one of document.querySelectorAll("#live details[id]")) open.set(one.id, one.open);
    for (const log of document.querySelectorAll("#live [data-follow]")) {
      const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END_PX;
      place.set(log.id, atEnd ? null : log.scrollTop);
    }
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const one of document.querySelectorAll("#live details[id]")) if (open.has(one.id)) one.open = open.get(one.id);
    follow(document);
  });
  document.addEventListener("DOMContentLoaded", () => follow(document));
})();
