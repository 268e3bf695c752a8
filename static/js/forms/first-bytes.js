// Looks at the first bytes of files before they are sent: what can never become a model, a classifier or prompts is
// refused at once, not after gigabytes.

const HEAD = 4096;
const CODE = /\.(py|so|dll|sh|pyc|js|exe)$/i;
const TORCH = /\.(bin|pt|pth|ckpt)$/i;
const text = (bytes) => new TextDecoder("latin1").decode(bytes);

/** What a file is by its first bytes, if it is nothing that can be used for weights. */
const KINDS = [
  ["is a pickle, which can run any code when it is opened. Convert it to safetensors, or leave it out", (head, path) =>
    (head[0] === 0x80 && head[1] >= 2 && head[1] <= 5) || (text(head).startsWith("PK") && TORCH.test(path))],
  ["is a NumPy file. Convert it to safetensors, or leave it out", (head) => text(head).startsWith("\x93NUMPY")],
  ["is GGUF, the format of llama.cpp. Send it alone, as a file named ….gguf", (head, path) =>
    text(head).startsWith("GGUF") && !/\.gguf$/i.test(path)],
  ["is a program. Leave it out", (head) => text(head).startsWith("\x7fELF") || text(head).startsWith("MZ")],
];

const isPacked = (head) => ["PK", "PAR1", "\x1f\x8b", "BZh", "\xfd7zXZ"].some((magic) => text(head).startsWith(magic))
  || text(head.slice(257, 262)) === "ustar";
const isTorn = (head, file) => head.length < 9 || Number(new DataView(head.buffer).getBigUint64(0, true)) + 8 > file.size || head[8] !== 0x7b;

/** A sentence that says what is wrong with a file, or nothing. */
export async function whyNot({ file, path }, fits) {
  const head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  const kind = isTorn(head, file) && KINDS.find(([, is]) => is(head, path)); // the length of a header may look like a pickle
  if (kind) return `${path} ${kind[0]}.`;
  if (fits === "prompts") {
    const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
    return head.includes(0) && !isPacked(head) && !isUtf16 ? `${path} is not text, so it holds no prompts. Send text, Parquet, zip or tar.` : "";
  }
  if (CODE.test(path)) return `${path} is code, which Drafthouse never runs. Leave it out.`;
  return path.endsWith(".safetensors") && isTorn(head, file) ? `${path} is not a whole safetensors file. Download or save it again.` : "";
}
