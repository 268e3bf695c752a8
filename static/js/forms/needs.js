// The form of a comparison: strategies that need a draft cannot be chosen for a pair without one, and say why.

const alone = new Set(JSON.parse(document.getElementById("alone").textContent));
const pair = document.querySelector("select[name=pair]");
const boxes = [...document.querySelectorAll("[data-needs-draft]")];
const held = new Set(); // chosen again as soon as the pair has a draft

function show() {
  const isAlone = alone.has(pair.value);
  for (const box of boxes) {
    if (isAlone && box.checked) held.add(box);
    box.checked = isAlone ? false : box.checked || held.delete(box);
    box.disabled = isAlone;
    const why = document.getElementById(`why_${box.value}`);
    why.hidden = !isAlone;
    if (isAlone) box.setAttribute("aria-describedby", why.id);
    else box.removeAttribute("aria-describedby");
  }
}

pair.addEventListener("change", show);
show(); // a browser may have restored another pair than the page came with
