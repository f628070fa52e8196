/** The icons of the UI: 24-unit outlines in the text color, hidden from screen readers. */
const PATHS = {
  play: 'M7 5.5v13l11-6.5z',
  stop: 'M7 7h10v10H7z',
  open: 'M14 5h5v5M19 5l-8 8M17 14v4a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1h4',
  chart: 'M5 5v14h14M8 13c2-6 4-6 6-2s3 3 5-3',
  log: 'M6 4h12v16H6zM9 9h6M9 12.5h6M9 16h3',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  alert: 'M12 4l9 16H3zM12 10v4M12 17v.01',
  calendar: 'M4.5 6h15v14h-15zM4.5 10h15M8.5 3.5v5M15.5 3.5v5',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.5l3 1.5',
  chip: 'M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20c1-4 4-5 7.5-5s6.5 1 7.5 5',
  down: 'M6 9.5l6 6 6-6',
  up: 'M6 14.5l6-6 6 6',
  download: 'M12 4v11M7 10.5l5 5 5-5M5 20h14',
  plus: 'M12 5v14M5 12h14',
  again: 'M19 12a7 7 0 1 1-2.1-5M19 4v4h-4',
  trash: 'M5 7h14M9 7V5h6v2M7 7l1 13h8l1-13',
  terminal: 'M4 5.5h16v13H4zM7.5 9.5l3 2.5-3 2.5M12.5 15h4',
  share:
    'M9 12a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM21 6a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM21 18a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM8.7 10.6l6.6-3.2M8.7 13.4l6.6 3.2',
  search: 'M10.5 4.5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15 15l5 5',
  home: 'M4 11.5L12 5l8 6.5M6.5 10v9h11v-9',
  star: 'M12 4l2.4 5.2 5.6.7-4.1 3.9 1.1 5.6L12 16.6 7 19.4l1.1-5.6L4 9.9l5.6-.7z',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  save: 'M6 4h12v16l-6-4.5L6 20z',
  more: 'M5.5 12h.01M12 12h.01M18.5 12h.01',
  right: 'M9.5 6l6 6-6 6',
  columns: 'M4 5h16v14H4zM9.5 5v14M14.5 5v14',
  bell: 'M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 2h-15zM10 21h4',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
