// Sends files in pieces of 8 MiB that are named by their SHA-256: stopped at any moment, it goes on with what is missing.

import { become, sketch } from "../core/become.js";
import { whyNot } from "./first-bytes.js";
import { sha256 } from "./sha256.js";

const JUNK = /(^|\/)(\.DS_Store|Thumbs\.db|\._[^/]*|__MACOSX|\.git)(\/|$)/;
const ENDING = /\.(csv|tsv|txt|md|json|jsonl|ndjson|parquet|zip|tar|tar\.gz|tgz)$/i; // no part of the name that a file suggests
const AT_ONCE = 3;

for (const box of document.querySelectorAll("[data-upload]")) {
  box.hidden = false;
  const start = (files) => { if (files.length) new Sending(box, files).run(); };
  for (const input of box.querySelectorAll("input[type=file]")) {
    input.addEventListener("change", () => start([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name }))));
  }
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", async (event) => {
    event.preventDefault();
    box.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    start((await Promise.all(entries.map(walk))).flat());
  });
}

async function walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) { // a reader gives a hundred at a time, then none
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return (await Promise.all(found.map(walk))).flat();
    found.push(...some);
  }
}

class Sending {
  constructor(box, files) {
    this.box = box;
    this.address = box.dataset.upload;
    this.token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    this.files = files.filter(({ path }) => !JUNK.test(path)).map(({ file, path }) => ({ file, path, chunks: [], done: 0 }));
    this.total = this.files.reduce((sum, { file }) => sum + file.size, 0);
  }

  async run() {
    this.say(null);
    this.draw();
    try {
      for (const each of this.files) {
        const reason = await whyNot(each, this.box.dataset.fits);
        if (reason) throw new Error(reason);
      }
      await this.hash();
      const upload = await this.ask(this.address, "POST", this.manifest());
      await this.send(upload);
      this.tell("sent; being checked");
      const done = await this.ask(`${this.address}${upload.id}/complete/`, "POST");
      this.choose(await this.unpacked(done));
    } catch (error) {
      this.say(error.message);
    }
  }

  manifest() {
    const name = this.files.length === 1 ? this.files[0].path : this.files[0].path.split("/")[0];
    return { name, files: this.files.map(({ file, path, chunks }) => ({ path, size: file.size, chunks })) };
  }

  async hash() {
    this.size = 8 * 1024 * 1024;
    for (const each of this.files) {
      for (let at = 0; at < each.file.size; at += this.size) {
        const piece = await each.file.slice(at, at + this.size).arrayBuffer();
        each.chunks.push(await sha256(piece));
        this.share("reading, to see what is here already:", this.files.reduce((sum, { chunks, file }) => sum + Math.min(chunks.length * this.size, file.size), 0));
      }
    }
  }

  async send(upload) {
    this.share("sending:", 0);
    const missing = new Set(upload.missing);
    const queue = [];
    for (const each of this.files) {
      each.chunks.forEach((name, index) => {
        const piece = each.file.slice(index * this.size, (index + 1) * this.size);
        if (missing.delete(name)) queue.push({ each, name, piece });
        else this.count(each, piece.size);
      });
    }
    const worker = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        await this.put(upload, `${this.address}${upload.id}/chunks/${next.name}/`, next.piece);
        this.count(next.each, next.piece.size);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async unpacked(upload) {
    while (upload.state === "unpacking" && !upload.reason) { // by a worker, when its turn comes
      this.tell("sent; being unpacked");
      await new Promise((resolve) => setTimeout(resolve, 1000));
      upload = await this.ask(`${this.address}${upload.id}/`, "GET");
    }
    if (upload.reason) throw new Error(upload.reason);
    return upload;
  }

  async put(upload, address, piece) {
    for (let wait = 1000; ; wait *= 2) { // a lost connection is tried again, ever more slowly
      try {
        if (await this.hasCome(upload, address, piece)) return;
      } catch (error) {
        if (error instanceof Refused) throw error;
      }
      if (wait > 60000) throw new Error("The server does not answer. Choose the same files again to go on where this stopped.");
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  // Through the server; or straight to the object store, and the server is asked whether it has come.
  async hasCome(upload, address, piece) {
    const offer = upload.is_direct ? await this.ask(address, "POST") : { is_here: false, url: "" };
    if (offer.is_here) return true;
    const headers = offer.url ? {} : { "X-CSRFToken": this.token, "Content-Type": "application/octet-stream" };
    const answer = await fetch(offer.url || address, { method: "PUT", body: piece, headers });
    if (answer.ok) return offer.url ? (await this.ask(address, "POST")).is_here : true;
    if (!offer.url && answer.status < 500) throw new Refused(await answer.json());
    return false; // by a signed address that has run out, for one: the next try gets another
  }

  async ask(url, method, body) {
    const headers = { "X-CSRFToken": this.token, "Content-Type": "application/json" };
    const answer = await fetch(url, { method, headers, body: body ? JSON.stringify(body) : undefined });
    const told = await answer.json();
    if (!answer.ok) throw answer.status < 500 ? new Refused(told) : new Error(told.detail);
    return told;
  }

  count(each, bytes) {
    each.done += bytes;
    this.draw();
    this.share("sending:", this.files.reduce((sum, { done }) => sum + done, 0));
  }

  draw() {
    become(this.box.querySelector("[data-files]"), ...this.files.map(({ path, file, done }) =>
      sketch("li", {}, path, sketch("progress", { max: file.size || 1, value: done, "aria-label": path }))));
    this.box.querySelector("[data-progress]").hidden = false;
  }

  /** How far what is done at the moment has come. */
  share(verb, bytes) {
    const part = this.total ? bytes / this.total : 1;
    this.box.querySelector("[data-whole]").value = part;
    this.tell(`${verb} ${Math.floor(part * 100)} %`);
  }

  tell(words) {
    this.box.querySelector("[data-told]").textContent = words;
  }

  choose(upload) {
    const name = document.querySelector("input[name=name]");
    if (name && !name.value) name.value = upload.name.split("/")[0].replace(ENDING, "");
    const select = document.querySelector("select[name=upload]");
    select.append(new Option(`${upload.name}, just now`, upload.id, true, true));
    select.dispatchEvent(new Event("input", { bubbles: true })); // so that the code sample follows
    this.tell("sent and checked");
  }

  say(sentence) {
    const place = this.box.querySelector("[data-wrong]");
    place.hidden = !sentence;
    place.textContent = sentence ?? "";
    if (sentence) this.box.closest("details")?.setAttribute("open", "");
    for (const hint of document.querySelectorAll('[data-part="preview"] > p.quiet')) hint.hidden = Boolean(sentence);
  }
}

class Refused extends Error {
  constructor(problem) { super([problem.detail, problem.hint].filter(Boolean).join(" ")); }
}
