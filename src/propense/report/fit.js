// What only scripts do is spoken of only where they run.
document.querySelectorAll("#review > p .live").forEach((each) => { each.hidden = false; });
// The slider: how many rows can be reviewed. It moves the mark on the curve, the cut and the list.
const slider = document.getElementById("capacity-slider");
if (slider) {
  const data = JSON.parse(document.getElementById("capacity-data").textContent);
  const said = document.getElementById("capacity-said"), mark = document.getElementById("capacity-mark");
  const lines = [...document.querySelectorAll("#review-list tbody tr")];
  const whole = (number) => Math.round(number).toLocaleString("en-GB");
  const show = () => {
    const place = Number(slider.value), length = data.lengths[place];
    const rows = length === 1 ? "the first row" : `the first ${whole(length)} rows`;
    slider.setAttribute("aria-valuetext", length === 1 ? "1 row" : `${whole(length)} rows`);
    said.textContent = `Review ${rows}: ${whole(data.low[place])} to ${whole(data.high[place])} should be positive, ` +
      `${whole(data.expected[place])} in the middle. The cut: the last of them has a chance of ` +
      `${data.cut[place].toFixed(2)}.`;
    mark.style.left = `${100 * length / data.lengths.at(-1)}%`;
    mark.firstElementChild.style.bottom = `${100 * data.expected[place] / data.top}%`;
    lines.forEach((line) => line.classList.toggle("beyond", Number(line.dataset.rank) > length));
  };
  slider.addEventListener("input", show);
  document.querySelectorAll("#capacity .live").forEach((each) => { each.hidden = false; });
  show();
}
