// Numbers the lines of a log, gives each an address of its own, and finds text in them: Enter goes on, Shift+Enter goes back,
// Escape ends it, "/" in the log begins it. Without this script the log is the same text. A part of the page that is replaced
// while a run goes keeps what was looked for.
(() => {
  "use strict";
  const BLOCK = 200; // lines; of a long log, a block that is out of sight is not laid out
  const LONG = 2000;
  const MOST_MARKED = 2000; // places; further ones are counted and gone to like the others
  const looked = new Map(); // id of the log -> what was looked for, and at which line
  const logs = new WeakMap();
  const marks = window.Highlight && CSS.highlights ? new Highlight() : null;
  if (marks) CSS.highlights.set("log-found", marks);

  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  const numbered = (log) => {
    const first = Number(log.dataset.firstLine || 1);
    const texts = log.textContent.replace(/\n$/, "").split("\n");
    const blocks = document.createDocumentFragment();
    const lines = [];
    texts.forEach((text, place) => {
      if (place % BLOCK === 0) blocks.append(element("span", { className: "log-block" }));
      const number = first + place;
      const id = `${log.id}-L${number}`;
      const link = element("a", { href: `#${id}`, className: "log-number", tabIndex: -1 });
      link.dataset.line = number;
      link.setAttribute("aria-label", `Line ${number}`);
      const line = element("span", { className: "log-line", id }, link, `${text}\n`);
      blocks.lastChild.append(line);
      lines.push({ line, text: text.toLowerCase() });
    });
    log.classList.toggle("is-long", texts.length > LONG);
    // On the blocks: htmx copies attributes of what has an id, and the site's policy forbids it to write a style.
    for (const block of blocks.children) block.style.setProperty("--digits", String(first + texts.length).length);
    log.replaceChildren(blocks);
    return lines;
  };

  const places = ({ line, text }, wanted) => {
    const ranges = [];
    const node = line.lastChild;
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      if (at + wanted.length > node.data.length) break; // a letter that is longer in lower case
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
    return ranges;
  };

  const show = (log, line) => {
    const above = line.getBoundingClientRect().top - log.getBoundingClientRect().top;
    log.scrollTop += above - log.clientHeight / 3;
  };

  // State: `found` are the lines with what is looked for, `at` is the one that was gone to.
  const find = (state, wanted, keeps) => {
    for (const one of state.found) one.line.classList.remove("is-found", "is-current");
    if (marks) state.ranges.forEach((range) => marks.delete(range));
    const words = wanted.toLowerCase();
    state.found = words ? state.lines.filter(({ text }) => text.includes(words)) : [];
    state.ranges = [];
    for (const one of state.found) {
      one.line.classList.add("is-found");
      if (marks && state.ranges.length < MOST_MARKED) state.ranges.push(...places(one, words));
    }
    if (marks) state.ranges.forEach((range) => marks.add(range));
    state.at = -1;
    const kept = keeps ? state.found.findIndex(({ line }) => line.id === keeps) : 0;
    if (state.found.length) go(state, Math.max(kept, 0), !keeps);
    else tell(state);
  };

  const tell = (state) => {
    const { found, at } = state;
    const count = found.length === 1 ? "1 line" : `${found.length} lines`;
    state.count.textContent = !state.input.value ? "" : !found.length ? "Not found" : `${at + 1} of ${count}`;
    for (const button of [state.back, state.next]) button.disabled = found.length < 1;
    looked.set(state.log.id, { wanted: state.input.value, line: at < 0 ? "" : found[at].line.id });
  };

  const go = (state, at, scrolls = true) => {
    if (!state.found.length) return;
    if (state.at >= 0) state.found[state.at].line.classList.remove("is-current");
    state.at = (at + state.found.length) % state.found.length;
    const { line } = state.found[state.at];
    line.classList.add("is-current");
    if (scrolls) show(state.log, line);
    tell(state);
  };

  const bar = (state) => {
    const { log } = state;
    const button = (name, text, step) => element("button", {
      type: "button", className: "button", id: `${name}-${log.id}`, textContent: text, disabled: true, onclick: () => go(state, state.at + step),
    });
    state.input = element("input", { type: "search", id: `find-${log.id}`, placeholder: "Find in this log", autocomplete: "off", spellcheck: false });
    state.input.setAttribute("aria-label", "Find in this log");
    state.count = element("output", { className: "muted" });
    state.count.setAttribute("aria-live", "polite");
    state.back = button("back", "Previous", -1);
    state.next = button("next", "Next", 1);
    let waits = 0;
    state.input.addEventListener("input", () => {
      cancelAnimationFrame(waits);
      waits = requestAnimationFrame(() => find(state, state.input.value));
    });
    state.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") go(state, state.at + (event.shiftKey ? -1 : 1));
      else if (event.key === "Escape") { state.input.value = ""; find(state, ""); log.focus(); }
      else return;
      event.preventDefault();
    });
    return element("div", { className: "log-find" }, state.input, state.back, state.next, state.count);
  };

  const prepare = (log) => {
    const state = { log, lines: numbered(log), found: [], ranges: [], at: -1 };
    logs.set(log, state);
    log.before(bar(state));
    log.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target !== log) return;
      event.preventDefault();
      state.input.focus();
    });
    const before = looked.get(log.id);
    if (before && before.wanted) {
      state.input.value = before.wanted;
      find(state, before.wanted, before.line);
    }
  };

  // A line of a log that is not prepared yet, or whose part of the page was replaced, is no target to the browser.
  const follow = (scrolls) => {
    document.querySelectorAll(".log-line.is-linked").forEach((line) => line.classList.remove("is-linked"));
    const line = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!line || !line.classList.contains("log-line")) return;
    line.classList.add("is-linked");
    if (!scrolls) return;
    const details = line.closest("details");
    if (details) details.open = true;
    const log = line.closest("[data-log]");
    show(log, line);
    log.scrollIntoView({ block: "nearest" });
  };

  const prepareNew = () => {
    for (const log of document.querySelectorAll("[data-log]")) if (!logs.has(log)) prepare(log);
  };
  const again = () => { prepareNew(); follow(false); };

  document.addEventListener("DOMContentLoaded", () => { prepareNew(); requestAnimationFrame(() => follow(true)); });
  document.addEventListener("htmx:beforeSwap", () => { if (marks) marks.clear(); });
  document.addEventListener("htmx:afterSwap", again);
  window.addEventListener("hashchange", () => follow(true));
})();
