// Save a chart as a PNG: a copy of its section, which the browser paints from one SVG with the page's styles and marks inside.

const LEFT_OUT = ".below, .saves, .cursor, .term, .meaning, .pull, .run-it, .knob, .explained, .button, details";
const SCALE = 2; // pixels of a PNG for each of the page's
const MARGIN = 24;

/** Let the button of a section save its picture. */
export function savesOnClick(section, name) {
  section.addEventListener("click", async ({ target }) => target.closest("[data-save]") && offer(`${name}.png`, await painted(section)));
}

function offer(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function painted(section) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await pictureOf(section))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * SCALE;
  canvas.height = image.height * SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** The text of an SVG in which the section looks as it does on the page. */
async function pictureOf(section) {
  const address = section.closest("[data-marks]")?.dataset.marks, page = getComputedStyle(document.documentElement);
  const marks = address ? await (await fetch(address)).text() : document.querySelector("symbol")?.parentElement.outerHTML ?? "";
  const theme = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const styles = [...document.styleSheets].flatMap(({ cssRules }) => [...cssRules]).map(({ cssText }) => cssText).join("\n");
  const { paper, width, height } = copied(section);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" data-theme="${theme}" style='font: ${page.fontSize} / 1.6 ${page.fontFamily}'>
    <style><![CDATA[${styles}]]></style>${marks}<foreignObject width="100%" height="100%">${paper}</foreignObject></svg>`;
}

/** A copy without what one presses, inside copies of what the section is in, because styles ask for that; laid out for a moment,
 * because it is less high than the section. */
function copied(section) {
  const copy = section.cloneNode(true), paper = document.createElement("div");
  for (const gone of copy.querySelectorAll(LEFT_OUT)) gone.remove();
  for (const use of copy.querySelectorAll("use")) use.setAttribute("href", `#${use.getAttribute("href").split("#")[1]}`);
  copy.style.margin = "0";
  let inner = copy;
  for (let around = section.parentElement; around !== document.body; around = around.parentElement) {
    const shell = around.cloneNode(false);
    shell.style.display = "contents";
    shell.append(inner);
    inner = shell;
  }
  const { width } = section.getBoundingClientRect();
  paper.style = `box-sizing: border-box; width: ${width + 2 * MARGIN}px; padding: ${MARGIN}px; background: var(--paper); color: var(--ink)`;
  paper.append(inner);
  document.body.append(paper);
  const { width: wide, height: high } = paper.getBoundingClientRect();
  paper.remove();
  return { paper: new XMLSerializer().serializeToString(paper), width: Math.ceil(wide), height: Math.ceil(high) };
}
