// The colours of Okabe and Ito, which readers with every common form of colour blindness tell apart, on light and dark.

const HUES = { sky: "#56B4E9", orange: "#E69F00", purple: "#CC79A7" };

export const PALETTES = {
  light: { ...HUES, paper: "#ffffff", ink: "#1b1b1b", faint: "#dcdcdc", arrow: "#b4b4b4", stable: "#009E73", unstable: "#D55E00", undecided: "#8A8A8A", accent: "#0072B2", region: "#dcebf5", orbit: ["#e3d268", "#7c7b78", "#00224e"], past: "#999999" },
  dark: { ...HUES, paper: "#15181c", ink: "#ececec", faint: "#363b42", arrow: "#5a6169", stable: "#2cc79a", unstable: "#ff8a4c", undecided: "#9a9a9a", accent: "#6bb8f0", region: "#1d3446", orbit: ["#31548f", "#a59c74", "#fde945"], past: "#777f88" },
};

export const colourOf = (palette, stable) => (stable === 1 ? palette.stable : stable === 0 ? palette.unstable : palette.undecided);

/** The colour at a share from 0 to 1 along several "#rrggbb". */
export function along(colours, share) {
  const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const first = Math.min(Math.floor(place), colours.length - 2);
  const part = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => Math.round(part(colours[first], i) + (place - first) * (part(colours[first + 1], i) - part(colours[first], i))));
  return `rgb(${mixed.join(",")})`;
}
