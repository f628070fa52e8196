/** The look: one calm colour, system fonts, soft corners. Nothing is loaded from elsewhere. */
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

/** Greys of the dark scheme, a little blue like the surfaces they stand on. */
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

const SYSTEM_FONTS =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';

export const theme = createTheme({
  primaryColor: 'tide',
  primaryShade: { light: 7, dark: 6 },
  colors: { tide, dark },
  fontFamily: SYSTEM_FONTS,
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace',
  headings: { fontWeight: '650' },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  // By name, not by Component.extend: the login page shall not load dialogs for their defaults.
  components: {
    Button: { defaultProps: { fw: 600 } },
    Paper: { defaultProps: { withBorder: true, radius: 'lg' } },
    // its label is read out; without a role it may have none
    Skeleton: { defaultProps: { role: 'status' } },
    // a click beside it, be it the second of two on the button that has opened it, closes nothing
    Modal: {
      defaultProps: {
        centered: true,
        radius: 'lg',
        closeButtonProps: { 'aria-label': t`Close` },
        closeOnClickOutside: false,
      },
    },
    // its first item has the focus, and nothing stands in the menu that is no item of it
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
  },
});
