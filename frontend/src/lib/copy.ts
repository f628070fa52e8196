/** Copy a text; return false if the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  // The clipboard API exists on https and localhost only.
  if (navigator.clipboard === undefined) return copyBySelection(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copyBySelection(text),
  );
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  return copied;
}
