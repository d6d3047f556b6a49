// Scales of colours.

// Viridis (Smith, van der Walt, Firing), in nine colours of rising lightness, so that it is readable without hue.
const viridis = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
// RdBu (Brewer, colorbrewer2.org), of eleven colours: diverging, and readable by colour-blind people. Red: too large.
const redBlue = ["#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f"];
const colourSteps = 32;

// [red, green, blue] at a fraction of the scale.
function colourAt(colours, share) {
  const place = share * (colours.length - 1);
  const [low, high] = [Math.floor(place), Math.ceil(place)];
  const part = (text, from) => parseInt(text.slice(from, from + 2), 16);
  return [1, 3, 5].map((from) => Math.round(part(colours[low], from) + (place - low) * (part(colours[high], from) - part(colours[low], from))));
}

// One of the scale's `colourSteps` colours.
function colourOf(colours, level) {
  return `rgb(${colourAt(colours, level / (colourSteps - 1)).join(",")})`;
}

// For a legend.
function colourBar(colours, width) {
  return swatch(width, 10, Array.from({ length: colourSteps }, (_, level) => shape("rect", {
    x: (level * width) / colourSteps, width: width / colourSteps + 0.5, height: 10, fill: colourOf(colours, level) })));
}
