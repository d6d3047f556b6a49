// Light, dark, or the system's setting. #light and #dark at the end of the page's address also select one.

const themes = ["system", "light", "dark"];

function remembered(key) {
  try { return window.localStorage.getItem(key); } catch { return null; }
}

function remember(key, value) {
  try { window.localStorage.setItem(key, value); } catch { /* a page from a file may have no memory */ }
}

function startTheme(button) {
  const asked = location.hash.slice(1);
  let theme = themes.includes(asked) ? asked : remembered("mylos-theme");
  if (!themes.includes(theme)) theme = "system";
  const show = () => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Colours: ${theme}`;
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    remember("mylos-theme", theme);
    show();
  });
  show();
}
