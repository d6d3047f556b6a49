// Reloads the page while the run continues and the page is rewritten, and keeps the scroll position.

const placeKey = `mylos-place ${location.pathname}`;

function startReload(button, seconds) {
  restorePlace();
  if (!(seconds > 0)) return;
  let timer = null;
  const show = () => {
    button.hidden = false;
    button.setAttribute("aria-pressed", String(timer === null));
    button.textContent = timer === null ? "Reloading paused" : `Reloads every ${seconds} s`;
  };
  const start = () => {
    timer = setTimeout(() => {
      savePlace();
      location.reload();
    }, seconds * 1000);
    show();
  };
  button.addEventListener("click", () => {
    if (timer === null) start();
    else {
      clearTimeout(timer);
      timer = null;
      show();
    }
  });
  start();
}

function savePlace() {
  const open = [...document.querySelectorAll("details[open]")].map((details) => details.id);
  const place = { top: window.scrollY, open, focus: document.activeElement ? document.activeElement.id : "" };
  try { window.sessionStorage.setItem(placeKey, JSON.stringify(place)); } catch { /* then it begins at its top */ }
}

function restorePlace() {
  try {
    const place = JSON.parse(window.sessionStorage.getItem(placeKey));
    window.sessionStorage.removeItem(placeKey);
    if (!place) return;
    for (const id of place.open) if (document.getElementById(id)) document.getElementById(id).open = true;
    const focused = place.focus && document.getElementById(place.focus);
    if (focused) focused.focus({ preventScroll: true });
    window.scrollTo({ top: place.top, behavior: "instant" });
  } catch { /* likewise */ }
}
