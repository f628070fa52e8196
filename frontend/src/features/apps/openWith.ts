/**
 * The app with which a session opens instead of JupyterLab. The page that waits for the session's
 * start knows it from its history state: a reload keeps it, and no link can set it, so following a
 * link starts no app. Pure.
 */
import type { HistoryState } from '@tanstack/react-router';
import type { CatalogApp } from '@/api/types';
import { isLike, isText } from '@/lib/drafts';

/** `title` in English, as the catalog has it */
export type OpenWith = Pick<CatalogApp, 'name' | 'title'>;

declare module '@tanstack/react-router' {
  interface HistoryState {
    openWith?: OpenWith;
  }
}

const isOpenWith = isLike<OpenWith>({ name: isText, title: isText });

/** Return the app in a history state; null for JupyterLab. */
export const readOpenWith = ({ openWith }: HistoryState): OpenWith | null =>
  isOpenWith(openWith) ? openWith : null;

/** Return the history state of a page that opens this app; null for JupyterLab. */
export const toOpenWithState = (openWith: OpenWith | null): HistoryState =>
  openWith === null ? {} : { openWith };
