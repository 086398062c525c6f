// What the views draw with, recorded as SVG: the part of a canvas's context that they use.

const round = (number) => Math.round(number * 100) / 100;
const escaped = (text) => String(text).replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);

export class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, body: [], defined: [], path: "", dash: [], kept: [], clipped: "" });
    Object.assign(this, { strokeStyle: "#000", fillStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "12px sans-serif", textAlign: "left", textBaseline: "alphabetic", lineCap: "butt" });
  }

  save() {
    const { strokeStyle, fillStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, lineCap, dash, clipped } = this;
    this.kept.push({ strokeStyle, fillStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, lineCap, dash, clipped });
  }
  restore() {
    Object.assign(this, this.kept.pop());
  }
  setLineDash(dash) {
    this.dash = dash;
  }
  beginPath() {
    this.path = "";
  }
  moveTo(x, y) {
    this.path += `M${round(x)} ${round(y)}`;
  }
  lineTo(x, y) {
    this.path += `L${round(x)} ${round(y)}`;
  }
  closePath() {
    this.path += "Z";
  }
  rect(x, y, width, height) {
    this.path += `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}Z`;
  }
  arc(x, y, radius, from, to) {
    const [r, half] = [round(radius), from + (to - from) / 2];
    const at = (angle) => `${round(x + radius * Math.cos(angle))} ${round(y + radius * Math.sin(angle))}`;
    this.path += `M${at(from)}A${r} ${r} 0 0 1 ${at(half)}A${r} ${r} 0 0 1 ${at(to)}`;
  }
  clip() {
    const name = `clip${this.defined.length}`;
    this.defined.push(`<clipPath id="${name}"><path d="${this.path}"/></clipPath>`);
    this.clipped = ` clip-path="url(#${name})"`;
  }
  stroke() {
    const dashes = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    this.body.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linecap="${this.lineCap}"${this._alpha("stroke")}${dashes}${this.clipped}/>`);
  }
  fill() {
    this.body.push(`<path d="${this.path}" fill="${this.fillStyle}"${this._alpha("fill")}${this.clipped}/>`);
  }
  fillRect(x, y, width, height) {
    this.body.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${this.fillStyle}"${this._alpha("fill")}${this.clipped}/>`);
  }
  fillText(text, x, y) {
    const [anchor, base] = [{ left: "start", center: "middle", right: "end" }[this.textAlign], { middle: "central", top: "hanging" }[this.textBaseline] ?? "auto"];
    const [size, ...family] = this.font.split(" ");
    this.body.push(`<text x="${round(x)}" y="${round(y)}" font-size="${size}" font-family="${escaped(family.join(" "))}" fill="${this.fillStyle}" text-anchor="${anchor}" dominant-baseline="${base}"${this.clipped}>${escaped(text)}</text>`);
  }
  _alpha(what) {
    return this.globalAlpha < 1 ? ` ${what}-opacity="${this.globalAlpha}"` : "";
  }
  toString() {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" width="${this.width}" height="${this.height}"><defs>${this.defined.join("")}</defs>${this.body.join("\n")}</svg>\n`;
  }
}
