//! What the HTTP edge hands to the device and gets back: borrowed, without an allocation.

/// A request whose head has been parsed and whose body has been read whole and de-chunked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Method token as sent, for example `POST`.
    pub method: &'a str,
    /// Request target in origin form, without the query.
    pub path: &'a str,
    /// Name and value of each header in the order sent; names in any letter case, values without outer white space.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Body, at most [`crate::MAX_BODY`] bytes.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// Value of the first header of this name, compared without regard to letter case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

/// What the HTTP edge sends back; it adds the framing headers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// HTTP status code.
    pub status: u16,
    /// `Content-Type`, none when there is no body.
    pub content_type: Option<&'static str>,
    /// `Allow`, with 405 and for OPTIONS.
    pub allow: Option<&'static str>,
    /// Body bytes, in the answer buffer that the caller lent.
    pub body: &'a [u8],
}
