import { createContext, useContext } from 'react';

/** Runs an action; if the portal requires the password first, asks for it and repeats the action.
 * Rejects with Cancelled when the dialog is closed. */
export type WithPassword = <T>(action: () => Promise<T>) => Promise<T>;

export const ReauthContext = createContext<WithPassword>((action) => action());

export const useWithPassword = (): WithPassword => useContext(ReauthContext);
