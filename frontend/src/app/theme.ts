/** The theme: one calm color, one font, soft corners. Nothing is loaded from other sites. */
import { t } from '@lingui/core/macro';
import { createTheme, type MantineColorsTuple } from '@mantine/core';

const tide: MantineColorsTuple = [
  '#e7f6f6',
  '#d3eaeb',
  '#a6d4d6',
  '#76bdc1',
  '#4fa9af',
  '#359ba2',
  '#158089',
  '#0b6b72',
  '#075a61',
  '#034a50',
];

/** Grays of the dark scheme, slightly blue like the surfaces around them. */
const dark: MantineColorsTuple = [
  '#d8dfe3',
  '#b3bec5',
  '#a3b0b8',
  '#7b8890',
  '#404b52',
  '#333c42',
  '#252c31',
  '#1d2327',
  '#15191c',
  '#0f1214',
];

/** Inter comes with the portal (styles.ts). It has no Chinese, for which the system's fonts follow. */
const FONTS =
  '"Inter Variable", "Inter fallback", system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif';

export const theme = createTheme({
  primaryColor: 'tide',
  primaryShade: { light: 7, dark: 6 },
  colors: { tide, dark },
  fontFamily: FONTS,
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace',
  // buttons, links and labels are medium
  fontWeights: { regular: '400', medium: '500', bold: '600' },
  headings: { fontWeight: '650' },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  // By name, not by Component.extend, so that the login page does not load dialogs for their
  // defaults.
  components: {
    Paper: { defaultProps: { withBorder: true, radius: 'lg' } },
    // its label is read by screen readers; without a role it may have none
    Skeleton: { defaultProps: { role: 'status' } },
    // a click outside, including the second click on the button that opened it, closes nothing
    Modal: {
      defaultProps: {
        centered: true,
        radius: 'lg',
        closeButtonProps: { 'aria-label': t`Close` },
        closeOnClickOutside: false,
      },
    },
    // its <header> would be a second banner of the page: a dialog is no section
    ModalHeader: { defaultProps: { role: 'none' } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': t`Close` } } },
    // the first item has the focus, and the menu contains only items
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
  },
});
