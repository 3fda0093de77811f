// What runs is asked for every few seconds and replaced. This keeps what the reader opened or closed and their place in the
// log (a log that is read at its end stays at its end), leaves alone what they are selecting, says a new status to screen
// readers, and says so when the site does not answer or the person is no longer signed in.
(() => {
  "use strict";
  const NEAR_END_PX = 40;
  const open = new Map();
  const place = new Map();
  const statuses = new Map();
  const notices = {};
  let focused = "";

  const follow = (root) => {
    for (const log of root.querySelectorAll("[data-follow]")) {
      const kept = place.get(log.id);
      log.scrollTop = kept === undefined || kept === null ? log.scrollHeight : kept;
    }
  };

  const notice = (name, text, link) => {
    if (!notices[name]) {
      notices[name] = document.createElement("p");
      notices[name].className = name === "said" ? "visually-hidden" : "message warning";
      notices[name].setAttribute("role", "status");
      document.getElementById("main").prepend(notices[name]);
    }
    if (link && notices[name].textContent.startsWith(text)) return; // the link in it may have the focus
    notices[name].textContent = text;
    notices[name].hidden = !text;
    if (link) notices[name].append(link);
  };

  const isSelecting = (target) => {
    const selected = getSelection();
    return !selected.isCollapsed && target.contains(selected.anchorNode);
  };

  // A site that wants the person to sign in again answers with the page for that, which belongs into no row.
  const isSignedOut = ({ xhr }) => xhr.responseURL && new URL(xhr.responseURL).pathname === document.body.dataset.signIn;

  const signIn = () => {
    const link = document.createElement("a");
    link.href = `${document.body.dataset.signIn}?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = "Sign in again";
    return link;
  };

  const say = () => {
    const news = [];
    for (const one of document.querySelectorAll("[data-status-of]")) {
      const word = one.lastChild.textContent.trim(); // without its icon
      const name = one.dataset.statusOf;
      if (statuses.has(name) && statuses.get(name) !== word) news.push(`${name}: ${word}`);
      statuses.set(name, word);
    }
    if (news.length) notice("said", news.join(". "));
  };

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { detail } = event;
    if (detail.isError) return;
    if (isSignedOut(detail)) {
      detail.shouldSwap = false;
      notice("trouble", "You are signed out, so this page no longer updates. ", signIn());
      return;
    }
    notice("trouble", "");
    if (isSelecting(detail.target) || detail.target.querySelector("dialog[open]")) {
      detail.shouldSwap = false;
      return;
    }
    focused = document.activeElement.id;
    for (const one of document.querySelectorAll("#live details[id]")) open.set(one.id, one.open);
    for (const log of document.querySelectorAll("#live [data-follow]")) {
      const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END_PX;
      place.set(log.id, atEnd ? null : log.scrollTop);
    }
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const one of document.querySelectorAll("#live details[id]")) if (open.has(one.id)) one.open = open.get(one.id);
    // htmx has tried before, when what holds the element was still closed.
    const again = document.activeElement === document.body && focused && document.getElementById(focused);
    if (again) again.focus({ preventScroll: true });
    follow(document);
  });
  document.addEventListener("htmx:afterSettle", say);
  for (const trouble of ["htmx:sendError", "htmx:responseError"]) {
    document.addEventListener(trouble, ({ detail }) => {
      if (detail.xhr.getResponseHeader("HX-Trigger")) return; // a refusal, which says itself why
      notice("trouble", "The site does not answer; what you see may be old. The page retries automatically.");
    });
  }
  document.addEventListener("DOMContentLoaded", () => {
    follow(document);
    say();
    notice("said", "");
  });
})();
