// The form of a comparison: strategies that need what the chosen pair lacks cannot be chosen, and say why.

const lacking = JSON.parse(document.getElementById("lacking").textContent); // what each pair lacks: a draft, or its scores
const pair = document.querySelector("select[name=pair]");
const boxes = [...document.querySelectorAll("[data-needs]")];
const held = new Set(); // chosen again as soon as the pair has what they need

function show() {
  for (const box of boxes) {
    const needs = box.dataset.needs.split(" "), lacks = needs.find((need) => need === lacking[pair.value]);
    if (lacks && box.checked) held.add(box);
    box.checked = lacks ? false : box.checked || held.delete(box);
    box.disabled = Boolean(lacks);
    for (const need of needs) document.getElementById(`why_${need}_${box.value}`).hidden = need !== lacks;
    if (lacks) box.setAttribute("aria-describedby", `why_${lacks}_${box.value}`);
    else box.removeAttribute("aria-describedby");
  }
}

pair.addEventListener("change", show);
show(); // a browser may have restored another pair than the page came with
