/** Loads as a skyline: a column for each node, the hottest first, and a line where hot begins. The flatter, the better. */
import { colourOf, HOT } from "./colour.js";

/**
 * @param {HTMLCanvasElement} canvas
 * @param {(number|null)[]} loads sorted
 * @param {number} width @param {number} height
 */
export function skyline(canvas, loads, width, height) {
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  const step = width / Math.max(loads.length, 1);
  const gap = step > 6 ? 3 : 0;
  loads.forEach((load, n) => {
    context.fillStyle = style.getPropertyValue("--track");
    context.fillRect(n * step, 0, step - gap, height);
    context.fillStyle = colourOf(load);
    const tall = Math.min(load ?? 0, 1) * height;
    context.fillRect(n * step, height - tall, step - gap, tall);
  });
  context.strokeStyle = style.getPropertyValue("--text");
  context.setLineDash([3, 4]);
  context.beginPath();
  context.moveTo(0, Math.round(height * (1 - HOT)) + 0.5);
  context.lineTo(width, Math.round(height * (1 - HOT)) + 0.5);
  context.stroke();
}
