// Sends a chosen file in parts, with progress. A transfer that was cut off goes on where it stopped: at once after a short
// break of the network, and also after the page was loaded again and the same file was chosen.
(() => {
  "use strict";
  const PART_BYTES = 8 * 1024 * 1024;
  const RETRIES = 8;
  const SILENCE_MS = 45 * 1000; // without a byte on its way, a connection is taken for lost
  const ANSWER_MS = 180 * 1000; // once all bytes of a part are on their way

  const SIGNED_OUT = "You are signed out. Sign in again in another tab, load this page again and choose the same file: it goes on where it stopped.";
  const OUT_OF_DATE = "This page is out of date, because you signed in anew since. Load it again and choose the same file: it goes on where it stopped.";
  const NO_ANSWER = "The site does not answer. What has arrived is kept: press Submit to go on where it stopped, also after loading the page again.";
  const CHANGED = "The file was changed while it was sent. Choose it again.";
  const WAITS = "Sent. The page shows it once the other files have arrived.";

  class Refused extends Error {
    constructor(text, status = 0, answer = {}) {
      super(text);
      const { code = "" } = answer;
      this.kinds = code === "looks_like_another_kind" ? answer : null;
      // Of an upload that can never be submitted; any other reason leaves it for the next try, with the moment at which it began.
      this.isOfUpload = [404, 410].includes(status) || ["idempotency_key_reused", "uploaded_for_environment"].includes(code);
    }
  }
  class Interrupted extends Error {} // the transfer can go on later

  const remembered = (file, url) => `podium-upload:${url}:${file.name}:${file.size}:${file.lastModified}`;
  const isAway = ({ status }) => status >= 500 || status === 429; // a site that restarts, or asks for patience
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

  // `fetch`, whose own error speaks of a "failed fetch"; pages to sign in, which a form is sent to, are no answer either.
  const ask = async (url, options) => {
    const response = await fetch(url, options).catch(() => null);
    if (!response) throw new Interrupted(NO_ANSWER);
    if (response.redirected) throw new Interrupted(SIGNED_OUT);
    return response;
  };

  const read = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return {}; // a page, of a proxy for instance
    }
  };

  const refusal = (status, answer) => {
    if (answer.code === "not_authenticated") return new Interrupted(SIGNED_OUT);
    if (status === 403 && (!answer.code || answer.code === "permission_denied")) return new Interrupted(OUT_OF_DATE);
    if (isAway({ status })) return new Interrupted(answer.detail || NO_ANSWER);
    return new Refused(answer.detail || `The site answered ${status}. Try again in a minute.`, status, answer);
  };

  const explain = async (response) => refusal(response.status, read(await response.text().catch(() => "")));

  const begin = async (url, file, headers, isEnvironment) => {
    const known = localStorage.getItem(remembered(file, url));
    if (known) {
      const response = await ask(known, { headers });
      if (response.ok) return { url: known, offset: (await response.json()).received_bytes };
      if ([401, 403].includes(response.status) || isAway(response)) throw await explain(response);
      localStorage.removeItem(remembered(file, url));
    }
    const body = JSON.stringify({ file_name: file.name, size_bytes: file.size, is_environment: isEnvironment });
    const response = await ask(url, { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body });
    if (!response.ok) throw await explain(response);
    const made = response.headers.get("Location");
    localStorage.setItem(remembered(file, url), made);
    return { url: made, offset: 0 };
  };

  // XMLHttpRequest, because fetch does not report the progress of what it sends.
  const sendPart = (url, file, offset, headers, onProgress) => new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("PATCH", url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.setRequestHeader("Content-Type", "application/offset+octet-stream");
    request.setRequestHeader("Upload-Offset", String(offset));
    let timer = 0;
    const wait = (ms) => {
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), ms);
    };
    request.upload.onprogress = (event) => {
      wait(SILENCE_MS);
      onProgress(offset + event.loaded);
    };
    request.upload.onload = () => wait(ANSWER_MS);
    request.onload = () => done(request);
    request.onerror = request.onabort = () => failed(new Error("The connection was lost."));
    request.onloadend = () => clearTimeout(timer);
    wait(SILENCE_MS);
    request.send(file.slice(offset, offset + PART_BYTES));
  });

  // A browser reads a file that was changed since it was chosen no more.
  const requireUnchanged = async (file, offset) => {
    const isReadable = await file.slice(offset, offset + 1).arrayBuffer().then(() => true, () => false);
    if (!isReadable) throw new Refused(CHANGED);
  };

  const transfer = async (start, file, headers, say) => {
    let { offset } = start;
    let failures = 0;
    while (offset < file.size) {
      const answer = await sendPart(start.url, file, offset, headers, (sent) => say(sent, "")).catch(() => null);
      if (!answer || isAway(answer)) {
        if (!answer) await requireUnchanged(file, offset);
        if (++failures > RETRIES) throw new Interrupted((answer && read(answer.responseText).detail) || NO_ANSWER);
        say(offset, "Connection lost, trying again");
        await sleep(Math.min(1000 * 2 ** failures, 30000));
        const state = await fetch(start.url, { headers }).catch(() => null);
        if (state && state.ok) offset = (await state.json()).received_bytes;
        continue;
      }
      const body = read(answer.responseText);
      if (answer.status === 409 && Number.isInteger(body.expected_offset)) {
        offset = body.expected_offset;
      } else if (answer.status !== 200) {
        throw refusal(answer.status, body);
      } else {
        offset = body.received_bytes;
        failures = 0;
      }
    }
  };

  // Names in a zip, read from the directory at its end, one for each folder at the top; null where it cannot be read so:
  // then the site looks at the file once it is there. The bounds are those of the site's own first look.
  const zipNames = async (file) => {
    const last = Math.min(file.size, 65557); // a comment of 64 KiB may follow the end record
    const tail = new DataView(await file.slice(file.size - last).arrayBuffer());
    let end = last - 22;
    while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
    if (end < 0) return null;
    const [entries, size] = [tail.getUint16(end + 10, true), tail.getUint32(end + 12, true)];
    const start = file.size - last + end - size;
    if (entries > 1000 || size > 262144 || start < 0) return null;
    const directory = new DataView(await file.slice(start, start + size).arrayBuffer());
    const names = new Map();
    for (let at = 0, read = 0; read < entries; read += 1) {
      if (at + 46 > size || directory.getUint32(at, true) !== 0x02014b50) return null;
      const [length, extra, comment] = [28, 30, 32].map((place) => directory.getUint16(at + place, true));
      const name = new TextDecoder().decode(directory.buffer.slice(at + 46, at + 46 + length));
      if (!name.endsWith("/")) names.set(name.includes("/") ? `${name.split("/")[0]}/` : name, name);
      at += 46 + length + extra + comment;
    }
    return [...names.values()];
  };

  // The site's word on a file by its name, and on a zip by the names in it, before it is sent. Whatever else may go wrong here,
  // the upload says. True where the site has found nothing wrong.
  const lookAt = async (form, file, headers, isKindSure) => {
    if (!form.dataset.look) return false;
    const names = JSON.stringify(/\.zip$/i.test(file.name) ? await zipNames(file).catch(() => null) : []);
    if (names === "null" || names.length > 32768) return false;
    const entered = new FormData(form);
    const body = new FormData();
    for (const name of ["phase", "kind"]) body.set(name, entered.get(name) || "");
    if (isKindSure) body.set("kind_is_sure", "on");
    body.set("file_name", file.name);
    body.set("names", names);
    const response = await fetch(form.dataset.look, { method: "POST", headers: { ...headers, Accept: "application/json" }, body }).catch(() => null);
    if (response && response.status === 422) throw await explain(response);
    return Boolean(response && response.ok);
  };

  const submit = async (form, upload, headers, isKindSure) => {
    const body = new FormData(form);
    if (isKindSure) body.set("kind_is_sure", "on");
    body.delete("file");
    body.set("upload", upload.url.replace(/\/$/, "").split("/").pop());
    body.set("idempotency_key", upload.url);
    const response = await ask(form.action, { method: "POST", headers: { ...headers, Accept: "application/json" }, body });
    if (!response.ok) throw await explain(response);
    return (await response.json()).url;
  };

  const size = (bytes) => (bytes < 1048576 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1048576).toFixed(1)} MiB`);

  const show = (form) => {
    const box = form.querySelector(".upload-progress");
    const bar = box.querySelector("progress");
    const text = box.querySelector("output");
    box.hidden = false;
    return (total) => (sent, note) => {
      bar.value = total ? (100 * sent) / total : 0;
      text.setAttribute("aria-live", note ? "polite" : "off"); // a number that runs is not read out
      text.textContent = `${size(sent)} of ${size(total)}${note ? `. ${note}` : ""}`;
    };
  };

  const sending = new Set(); // forms; a page may have several
  const stay = (event) => event.preventDefault(); // asks before a page is left that is sending

  // Another file can be chosen only once this one is there.
  const hold = (form, isHeld) => {
    if (isHeld) sending.add(form); else sending.delete(form);
    for (const control of form.querySelectorAll('input[type="file"], button[type="submit"]')) control.disabled = isHeld;
    if (sending.size) addEventListener("beforeunload", stay); else removeEventListener("beforeunload", stay);
  };

  // The two ways on for a file that looks like another kind. Either sends what is there already, so nothing travels twice.
  const offerKinds = (form, kinds) => {
    const box = form.querySelector("[data-upload-kinds]");
    if (!box) return;
    box.hidden = !kinds;
    if (!kinds) return;
    const [instead, anyway] = box.querySelectorAll("button");
    instead.textContent = kinds.send_instead;
    anyway.textContent = kinds.send_anyway;
    instead.onclick = () => {
      form.querySelector(`[name="kind"][value="${kinds.looks_like}"]`).checked = true;
      run(form);
    };
    anyway.onclick = () => run(form, true);
  };

  const headersOf = (form) => ({ "X-CSRFToken": form.querySelector('[name="csrfmiddlewaretoken"]').value });

  const showProblem = (form, problem) => {
    const error = form.querySelector("[data-upload-error]");
    error.hidden = !problem;
    error.textContent = problem ? problem.message : "";
    offerKinds(form, (problem && problem.kinds) || null);
    if (problem) (form.querySelector("[data-upload-kinds]:not([hidden])") || error).scrollIntoView({ block: "nearest" });
  };

  const goTo = (url) => {
    if (url.split("#")[0] === location.pathname + location.search) location.reload(); else location.assign(url);
  };

  const run = async (form, isKindSure = false) => {
    const file = form.querySelector('input[type="file"]').files[0];
    const button = form.querySelector('button[type="submit"]');
    const headers = headersOf(form);
    let isLookedAt = false;
    let isSent = false;
    showProblem(form, null);
    hold(form, true);
    try {
      await lookAt(form, file, headers, isKindSure);
      isLookedAt = true;
      const say = show(form)(file.size);
      const upload = await begin(form.dataset.upload, file, headers, "environment" in form.dataset);
      say(upload.offset, upload.offset ? "Going on where it stopped" : "");
      await transfer(upload, file, headers, say);
      isSent = true;
      say(file.size, "Checking the file");
      const url = await submit(form, upload, headers, isKindSure);
      localStorage.removeItem(remembered(file, form.dataset.upload));
      sending.delete(form);
      if (sending.size) say(file.size, WAITS);
      else {
        removeEventListener("beforeunload", stay);
        goTo(url);
      }
    } catch (problem) {
      const isOver = problem instanceof Refused && isLookedAt && (problem.isOfUpload || !isSent);
      if (isOver) localStorage.removeItem(remembered(file, form.dataset.upload));
      hold(form, false);
      button.focus(); // a button that was disabled has lost it
      answerInZone(form, file, false); // it looked right, and is not
      showProblem(form, problem);
      if (problem.kinds) form.querySelector("[data-send-instead]").focus();
      form.querySelector(".upload-progress").hidden = true;
    }
  };

  // A file may be dropped anywhere on the zone, which shows that it will take it.
  const zoneOf = (event) => event.target instanceof Element && event.target.closest(".drop-zone");
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const zone = zoneOf(event);
      if (!zone || !event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      zone.classList.toggle("is-over", kind === "dragover");
      const input = zone.querySelector('input[type="file"]');
      if (kind !== "drop" || input.disabled) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true })); // as when it is chosen
    });
  }

  // What was chosen, and what it looks like, stands where it was dropped: a check of its content comes later.
  const KINDS = { prediction: "a predictions file", code: "code", dataset: "a dataset" };
  const answerInZone = (form, file, isRight) => {
    const answer = form.querySelector("[data-drop-answer]");
    if (!answer) return;
    answer.hidden = !file;
    if (!file) return;
    const kind = KINDS[new FormData(form).get("kind")];
    answer.classList.toggle("good", isRight);
    const verdict = isRight && kind ? `. Looks like ${kind}. It is checked when you submit.` : "";
    answer.textContent = `${file.name}, ${size(file.size)}${verdict}`;
  };

  // Another file or kind is another question; it is asked at once, so that nobody waits for an upload to hear the answer.
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-upload]");
    if (!form || !["file", "radio"].includes(event.target.type) || sending.has(form)) return;
    const chosen = () => `${form.querySelector('input[type="file"]').value}:${new FormData(form).get("kind")}`;
    const [file, asked] = [form.querySelector('input[type="file"]').files[0], chosen()];
    showProblem(form, null);
    answerInZone(form, file, false);
    if (!file) return;
    lookAt(form, file, headersOf(form), false).then((isRight) => {
      if (asked === chosen()) answerInZone(form, file, isRight);
    }).catch((problem) => {
      if (asked === chosen() && !sending.has(form)) showProblem(form, problem);
    });
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-upload]")) return;
    event.preventDefault();
    if (!sending.has(event.target)) run(event.target);
  });

  // A page that somebody comes back to is as they left it: with a form that can be used.
  addEventListener("pagehide", () => {
    for (const form of document.querySelectorAll("form[data-upload]")) {
      hold(form, false);
      form.querySelector(".upload-progress").hidden = true;
    }
  });

  // Nor does the site have a page loaded again that is sending: what asked for that asks again.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (sending.size && event.detail.xhr.getResponseHeader("HX-Refresh")) event.preventDefault();
  });
})();
